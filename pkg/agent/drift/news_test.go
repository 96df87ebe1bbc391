package drift

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// day is news with a clock that the test moves.
type day struct {
	*news
	t     *testing.T
	clock *clocktesting.FakeClock
	told  chan string
}

func newDay(t *testing.T) *day {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	d := &day{news: newNews(clk), t: t, clock: clk, told: make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.run(ctx, func(name string) { d.told <- name })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return d
}

// after says how long it takes until a notice comes, in steps of ten milliseconds.
func (d *day) after(name string) time.Duration {
	d.t.Helper()
	began := d.clock.Now()
	for d.clock.Since(began) < time.Hour {
		require.Eventually(d.t, func() bool { return d.clock.HasWaiters() || len(d.told) > 0 }, deadlineFor, time.Microsecond)
		select {
		case got := <-d.told:
			require.Equal(d.t, name, got)
			return d.clock.Since(began)
		default:
			d.clock.Step(10 * time.Millisecond)
		}
	}
	require.Fail(d.t, "no notice came")
	return 0
}

func TestManyChangesAreOneNotice(t *testing.T) {
	d := newDay(t)
	for range 100 {
		d.add("a", true)
	}
	assert.InDelta(t, firstNotice, d.after("a"), float64(20*time.Millisecond))
	assert.Empty(t, d.told)
}

// C04: what changes for ever is told ever more rarely.
func TestNoticesOfStatusesBecomeRare(t *testing.T) {
	d := newDay(t)
	var pauses []time.Duration
	for range 12 {
		d.add("a", false)
		pauses = append(pauses, d.after("a"))
	}
	assert.Less(t, pauses[0], 100*time.Millisecond)
	assert.InDelta(t, 2*pauses[5], pauses[6], float64(50*time.Millisecond))
	assert.InDelta(t, maxStatus, pauses[11], float64(50*time.Millisecond))
	// A spec does not wait for that, even if a notice is due already.
	d.add("a", false)
	d.clock.Step(maxSpec)
	d.add("a", true)
	assert.Less(t, d.after("a"), 100*time.Millisecond)
	// And after a calm all is as in the beginning.
	d.clock.Step(2 * calm)
	d.add("a", false)
	assert.Less(t, d.after("a"), 100*time.Millisecond)
}

func TestBundlesDoNotWaitForEachOther(t *testing.T) {
	d := newDay(t)
	for range 10 {
		d.add("a", false)
		d.after("a")
	}
	d.add("a", false)
	d.add("b", false)
	assert.Less(t, d.after("b"), 100*time.Millisecond)
}

func TestWhatWasReadOrForgottenIsNotTold(t *testing.T) {
	d := newDay(t)
	d.add("a", true)
	d.settle("a")
	d.settle("nobody")
	d.add("b", true)
	d.forget("b")
	d.add("c", true)
	assert.Less(t, d.after("c"), 100*time.Millisecond)
	assert.Empty(t, d.told)
}
