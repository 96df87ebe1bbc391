package heartbeat

import (
	"sync"
	"time"

	"github.com/rancher/fleet/pkg/kube"
)

// contact is what is known of an agent's connection.
type contact int

const (
	// unknown: the hub has seen no renewal, and has not been in touch with its API server for as long as one may take.
	unknown contact = iota
	// connected: a renewal was seen within the grace.
	connected
	// silent: none was, though the hub would have seen one.
	silent
)

// pulse is one agent's heartbeat as the hub saw it.
type pulse struct {
	// holder and renewed are as the agent wrote them.
	holder  string
	renewed time.Time
	// seen is when the hub saw the last renewal, zero if it has seen none; since is when it first looked.
	seen, since time.Time
	// turns are who beat last, one after the other. What is shared of it is never changed.
	turns []turn
	// touch is the hub's own, without which it sees nothing.
	touch kube.Touch
	// round grows with each request for a new judgement.
	round int
}

// contact judges a pulse at a time.
func (p pulse) contact(now time.Time, grace time.Duration) contact {
	switch {
	case !p.seen.IsZero() && now.Sub(p.seen) < grace:
		return connected
	case p.touch.Lost || now.Sub(p.counted()) < grace:
		return unknown
	default:
		return silent
	}
}

// counted is from when on silence counts. What the hub could not have seen is no silence.
func (p pulse) counted() time.Time {
	if p.seen.IsZero() {
		return p.touch.From(p.since)
	}
	return p.touch.From(p.seen)
}

// ends is when the contact will change if no renewal comes.
func (p pulse) ends(grace time.Duration) time.Time { return p.counted().Add(grace) }

// entry is a pulse and what was last made of it.
type entry struct {
	pulse
	// read is the renewal that was read past the cache last, zero for none; the cache is still to show it.
	read     time.Time
	reported contact
	holderAt string
	judged   bool
	// next is when something becomes due, zero for never.
	next time.Time
	// basis is what the last judgement rested on beside the agent.
	basis string
}

// tracker remembers pulses by the cluster's namespace.
type tracker struct {
	started  time.Time
	presence *kube.Presence

	mu      sync.Mutex
	entries map[string]*entry
	turns   map[string][]turn
	// suspected are the clusters of which two agents seem to use the one credential.
	suspected map[string]bool
}

func newTracker(now time.Time, presence *kube.Presence) *tracker {
	return &tracker{
		started: now, presence: presence, entries: map[string]*entry{}, turns: map[string][]turn{}, suspected: map[string]bool{},
	}
}

// observe takes in a Lease as it is now, or a check-in of an agent without one. Whatever stood there when the hub started
// is no renewal. It returns the pulse, and whether it has to be judged: because contact or holder changed, or a renewal
// of the credential is due.
func (t *tracker) observe(key, holder string, renewed, created, now time.Time, grace time.Duration) (pulse, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, found := t.entries[key]
	if !found {
		e = &entry{pulse: pulse{since: now}}
		t.entries[key] = e
		if !renewed.IsZero() && !created.Before(t.started.Truncate(time.Second)) {
			e.seen = now // it was made and renewed since the hub started
		}
	} else if !renewed.Equal(e.renewed) && !renewed.Equal(e.read) {
		e.seen = now
	}
	e.turns = t.turns[key]
	e.holder, e.renewed, e.touch = holder, renewed, t.presence.At(now)
	due := !e.next.IsZero() && !now.Before(e.next)
	return e.pulse, !e.judged || due || e.holder != e.holderAt || e.contact(now, grace) != e.reported
}

// isNews says that a contact is another than was said last.
func (t *tracker) isNews(key string, c contact) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[key]
	return !ok || e.reported != c
}

// observeRead takes in a renewal that was read past the cache, which may have missed it. Of what is not kept nothing is
// known.
func (t *tracker) observeRead(key string, renewed, now time.Time) (p pulse, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[key]
	if !ok {
		return pulse{}, false
	}
	if !renewed.Equal(e.renewed) && !renewed.Equal(e.read) {
		e.seen, e.read = now, renewed
	}
	e.touch = t.presence.At(now)
	return e.pulse, true
}

// settled notes that a pulse was judged, and when something becomes due. If a new judgement was asked for meanwhile, this
// one may not have seen what that is about, and does not count.
func (t *tracker) settled(key string, p pulse, c contact, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.entries[key]; ok {
		e.reported, e.holderAt, e.next, e.judged = c, p.holder, next, e.round == p.round
	}
}

// due is when something becomes due, zero for never.
func (t *tracker) due(key string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.entries[key]; ok {
		return e.next
	}
	return time.Time{}
}

// rest notes what a judgement rested on beside the agent, and restsElsewhere says whether that is another now.
func (t *tracker) rest(key, basis string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.entries[key]; ok {
		e.basis = basis
	}
}

func (t *tracker) restsElsewhere(key, basis string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[key]
	return ok && e.judged && e.basis != basis
}

// invalidate asks for a new judgement at the next look.
func (t *tracker) invalidate(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.entries[key]; ok {
		e.judged = false
		e.round++
	}
}

// forget frees what was kept of a cluster that is gone.
func (t *tracker) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, key)
}
