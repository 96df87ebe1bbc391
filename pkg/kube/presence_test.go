package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestATouchIsLostBetweenLooksThatAreTooFarApart(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	running := time.Now()
	const limit = 40 * time.Second
	for name, test := range map[string]struct {
		last, now time.Time
		lost      bool
	}{
		"at once":                            {at, at, false},
		"at the limit":                       {at, at.Add(limit), false},
		"beyond it":                          {at, at.Add(limit + 1), true},
		"the clock was set back a little":    {at, at.Add(-time.Second), false},
		"the clock was set back":             {at, at.Add(-time.Hour), true},
		"both clocks went on":                {running, running.Add(limit), false},
		"the process was stopped":            {running, running.Add(limit + 1), true},
		"the machine slept, one clock stood": {running, withWall(running.Add(time.Second), time.Hour), true},
		"the clock was set while it ran":     {running, withWall(running.Add(time.Second), -time.Hour), true},
	} {
		assert.Equal(t, test.lost, lapsed(test.last, test.now, limit), name)
	}
}

// withWall is a time whose wall clock was set, as far as a test can make one: a time with a monotonic reading cannot be
// made, so the reading goes.
func withWall(t time.Time, by time.Duration) time.Time { return t.Round(0).Add(by) }

// fakePresence is one whose API server answers with err, over a clock that the test moves.
type fakePresence struct {
	*Presence
	clock *clocktesting.FakeClock
	asked int
	err   error
}

func newFakePresence(start time.Time) *fakePresence {
	f := &fakePresence{clock: clocktesting.NewFakeClock(start)}
	f.Presence = NewPresence(f.clock, func() time.Duration { return 10 * time.Second }, func(context.Context) error {
		f.asked++
		return f.err
	})
	return f
}

// pass lets time go by, with a probe at each end of the pace.
func (f *fakePresence) pass(t *testing.T, d time.Duration) {
	for ; d > 0; d -= 10 * time.Second {
		f.clock.Step(min(d, 10*time.Second))
		f.once(t.Context(), 10*time.Second)
	}
}

func (f *fakePresence) touch() Touch { return f.At(f.clock.Now()) }

func TestATouchBeginsAnewAfterAnOutage(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := newFakePresence(start)
	f.pass(t, 10*time.Minute)
	assert.Equal(t, Touch{Since: start}, f.touch())

	f.err = errors.New("connection refused")
	f.pass(t, 40*time.Second)
	assert.Equal(t, Touch{Since: start}, f.touch(), "a short one is no outage")
	f.pass(t, 10*time.Second)
	assert.True(t, f.touch().Lost)
	f.err = nil
	f.pass(t, 10*time.Second)
	assert.Equal(t, Touch{Since: f.clock.Now()}, f.touch(), "what was in between is not known")
	since := f.clock.Now()
	f.pass(t, time.Hour)
	assert.Equal(t, Touch{Since: since}, f.touch())
}

// What was stopped does not know of it before it looks at a clock.
func TestAProcessThatWasStoppedIsOutOfTouchUntilItHasAsked(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := newFakePresence(start)
	f.pass(t, time.Minute)

	f.clock.Step(8 * time.Hour)

	assert.True(t, f.touch().Lost)
	f.once(t.Context(), 10*time.Second)
	assert.Equal(t, Touch{Since: f.clock.Now()}, f.touch())
}

func TestFromWhenOnSomethingIsMissing(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, at, Touch{}.From(at))
	assert.Equal(t, at, Touch{Since: at.Add(-time.Second)}.From(at))
	assert.Equal(t, at.Add(time.Second), Touch{Since: at.Add(time.Second)}.From(at))
	var none *Presence
	assert.Equal(t, Touch{}, none.At(at))
}

func TestAPresenceProbesAtItsPaceUntilItEnds(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	asked := make(chan time.Time)
	p := NewPresence(clock, func() time.Duration { return time.Second }, func(context.Context) error {
		asked <- clock.Now()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	first := <-asked
	for n := range 3 {
		require.Eventually(t, clock.HasWaiters, 10*time.Second, time.Millisecond)
		clock.Step(time.Second)
		assert.Equal(t, first.Add(time.Duration(n+1)*time.Second), <-asked)
	}
	cancel()
	<-ended
}

func TestAnyAnswerOfTheServersIsATouch(t *testing.T) {
	leases := schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
	for name, test := range map[string]struct {
		err  error
		held bool
	}{
		"there":        {nil, true},
		"not there":    {apierrors.NewNotFound(leases, "hub"), true},
		"forbidden":    {apierrors.NewForbidden(leases, "hub", errors.New("no")), true},
		"unauthorized": {apierrors.NewUnauthorized("who"), false},
		"no etcd":      {apierrors.NewInternalError(errors.New("etcd")), false},
		"the network":  {errors.New("connection refused"), false},
	} {
		clients := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "hub"}})
		clients.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return test.err != nil, nil, test.err })
		assert.Equal(t, test.held, ProbeLease(clients, "system", "hub")(t.Context()) == nil, name)
	}
}
