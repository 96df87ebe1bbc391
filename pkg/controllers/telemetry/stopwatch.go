package telemetry

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// stopwatch measures how long requests take that this hub has seen from their beginning, by its own clock. It is used by
// one goroutine, the one that the informer tells of requests.
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

// observe takes in a change. A request that the first list brought is not measured: nobody knows when it came.
func (s *stopwatch) observe(before, after *fleet.ClusterRegistration, first bool) (l lap) {
	switch {
	case after == nil:
		delete(s.runs, before.UID)
		return l
	case before == nil && !first:
		s.runs[after.UID] = run{seen: s.clock.Now()}
	}
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
