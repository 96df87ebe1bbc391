package preflight

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/rancher/fleet/pkg/registration"
)

const (
	// maxSkew is how far two clocks may be apart: API servers allow as much when they look at the times of a token.
	maxSkew = time.Minute
	// dateResolution is the mean that a Date header is behind, which has whole seconds.
	dateResolution = time.Second / 2
)

// clocks are the time here and the time there.
type clocks struct {
	here time.Time
	// ahead is how much later it is at the server, known only where it said its time.
	ahead time.Duration
	known bool
}

// clocksOf compares the times between which an answer was made with the time that it says.
func clocksOf(t trip, here time.Time) clocks {
	if t.date.IsZero() || t.sent.IsZero() || t.received.IsZero() {
		return clocks{here: here}
	}
	middle := t.sent.Add(t.received.Sub(t.sent) / 2)
	return clocks{here: here, ahead: t.date.Add(dateResolution).Sub(middle), known: true}
}

// there is the time at the server.
func (c clocks) there() time.Time { return c.here.Add(c.ahead) }

func decideClock(c clocks) finding {
	if !c.known {
		return skip("the server did not say its time")
	}
	size, direction := c.ahead.Abs().Round(time.Second), "ahead of"
	if c.ahead < 0 {
		direction = "behind"
	}
	if size <= 2*time.Second {
		return fine("the server's clock and this machine's agree")
	}
	found := fmt.Sprintf("the server's clock is %s %s this machine's", duration.HumanDuration(size), direction)
	if size <= maxSkew {
		return fine(found)
	}
	return doubt(found, "Set both clocks by a time server: certificates and tokens that one side makes are not yet good, or already over, for the other.")
}

// decideToken judges the times of a token by both clocks. Who checks it is the server.
func decideToken(token string, c clocks, words wording) finding {
	claims, err := registration.ParseClaims(token)
	if err != nil {
		return fine("it does not say until when it is good (it is no JWT)")
	}
	owner := "it is for " + word(claims.Subject)
	again := words.renew
	begins := claims.NotBefore
	if begins.IsZero() {
		begins = claims.IssuedAt
	}
	switch {
	case !claims.Expires.IsZero() && c.there().After(claims.Expires):
		return failure(fmt.Sprintf("%s; it ended at %s%s", owner, day(claims.Expires), byClock(c)), again)
	case begins.After(c.there().Add(maxSkew)):
		return failure(fmt.Sprintf("%s; it is good from %s on, which is to come%s", owner, day(begins), byClock(c)),
			"Set the clock of the server, or take a token that this server has made.")
	case claims.Expires.IsZero():
		return fine(owner + "; it has no end")
	}
	found := fmt.Sprintf("%s; it ends at %s, %s from now", owner, day(claims.Expires), duration.HumanDuration(claims.Expires.Sub(c.there())))
	switch {
	case c.here.After(claims.Expires) || begins.After(c.here.Add(maxSkew)):
		return doubt(found+" by the server's clock; by this machine's it is not good", "Set the clock of this machine.")
	case endsSoon(begins, claims.Expires, c.there()):
		return doubt(found, again)
	}
	return fine(found)
}

func byClock(c clocks) string {
	if c.known {
		return " by the server's clock"
	}
	return " by this machine's clock"
}
