package telemetry

import (
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// stopwatch measures how long requests take that this hub has seen from their beginning, by its own clock. How long a
// person takes is no figure of the hub: a request that is refused is measured no more, and anew from its approval on. It is
// used by one goroutine, the one that the informer tells of requests.
type stopwatch struct {
	clock clock.PassiveClock
	runs  map[types.UID]run
}

// run is one request under way; granted is zero until it is.
type run struct{ seen, granted time.Time }

// lap is what was measured, zero where it was not.
type lap struct {
	grant, use, join          time.Duration
	hasGrant, hasUse, hasJoin bool
}

func newStopwatch(c clock.PassiveClock) *stopwatch {
	return &stopwatch{clock: c, runs: map[types.UID]run{}}
}

// observe takes in a change.
func (s *stopwatch) observe(before, after *fleet.ClusterRegistration, first bool) (l lap) {
	if after == nil {
		delete(s.runs, before.UID)
		return l
	}
	s.begin(before, after, first)
	r, running := s.runs[after.UID]
	if !running {
		return l
	}
	now := s.clock.Now()
	granted := grantOf(after)
	if r.granted.IsZero() && granted != nil && granted.Status == corev1.ConditionTrue {
		l.grant, l.hasGrant = now.Sub(r.seen), true
	}
	if isUsed(after) {
		l.join, l.hasJoin = now.Sub(r.seen), true
		// A grant and its use that are seen at once, after a gap in the watch, say nothing of the time between them.
		if !r.granted.IsZero() {
			l.use, l.hasUse = now.Sub(r.granted), true
		}
		delete(s.runs, after.UID)
		return l
	}
	if l.hasGrant {
		r.granted = now
		s.runs[after.UID] = r
	}
	return l
}

// begin starts the run of a request, starts it anew, or ends it where it would measure something else. A request that the
// first list brought has none: nobody knows when it came.
func (s *stopwatch) begin(before, after *fleet.ClusterRegistration, first bool) {
	isNew := before == nil
	if isNew {
		before = &fleet.ClusterRegistration{}
	}
	was, is := grantOf(before), grantOf(after)
	switch {
	case isRefusal(is) && (was == nil || was.Status != is.Status || was.Reason != is.Reason):
		delete(s.runs, after.UID)
	case isNew && !first:
		s.runs[after.UID] = run{seen: s.clock.Now()}
	case !isNew && isApproved(after) && isDecidedAnew(before, after) && s.runs[after.UID].granted.IsZero():
		delete(s.runs, after.UID)
		// A grant that is seen together with its approval, after a gap in the watch, says nothing of the time between them.
		if is == nil || is.Status != corev1.ConditionTrue {
			s.runs[after.UID] = run{seen: s.clock.Now()}
		}
	}
}

// isRefusal says whether a request is kept until somebody does something.
func isRefusal(granted *genericcondition.GenericCondition) bool {
	return granted != nil && granted.Status == corev1.ConditionFalse && !slices.Contains(requestWaits, granted.Reason)
}

// measure takes a lap into the figures.
func (m *Metrics) measure(l lap) {
	if l.hasGrant {
		m.grantDuration.Observe(l.grant.Seconds())
	}
	if l.hasUse {
		m.useDuration.Observe(l.use.Seconds())
	}
	if l.hasJoin {
		m.joinDuration.Observe(l.join.Seconds())
	}
}
