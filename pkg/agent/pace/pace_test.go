package pace

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

func middle() float64 { return 0.5 }

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	b := Backoff{First: 20 * time.Millisecond, Max: 2 * time.Second, Random: middle}
	var got []time.Duration
	for range 9 {
		got = append(got, b.Next())
	}
	assert.Equal(t, []time.Duration{
		20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond,
		640 * time.Millisecond, 1280 * time.Millisecond, 2 * time.Second, 2 * time.Second,
	}, got)
	b.Reset()
	assert.Equal(t, 20*time.Millisecond, b.Next())
}

func TestAPollEndsHalfAsLateAsItTook(t *testing.T) {
	p := Poll{First: 20 * time.Millisecond, Max: 2 * time.Second, Random: middle}
	var at time.Duration
	var got []time.Duration
	for range 12 {
		at += p.Next()
		got = append(got, at.Truncate(time.Millisecond))
	}
	var want []time.Duration
	for _, ms := range []int{20, 40, 60, 90, 135, 202, 303, 455, 683, 1025, 1537, 2306} {
		want = append(want, time.Duration(ms)*time.Millisecond)
	}
	assert.Equal(t, want, got)
	for range 3 {
		p.Next()
	}
	assert.Equal(t, 2*time.Second, p.Next())
}

func TestJitterIsAFifthEitherWay(t *testing.T) {
	assert.Equal(t, 80*time.Second, Jitter(100*time.Second, func() float64 { return 0 }))
	assert.Equal(t, 100*time.Second, Jitter(100*time.Second, middle))
	assert.InDelta(t, 120*time.Second, Jitter(100*time.Second, func() float64 { return 0.999999 }), float64(time.Second))
}

func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Sleep(ctx, clocktesting.NewFakeClock(time.Now()), time.Hour), context.Canceled)
}

func TestRepeatCallsAtOnceAndAfterEachPause(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	clk := clocktesting.NewFakeClock(time.Now())
	calls := make(chan struct{}, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Repeat(ctx, clk, func(context.Context) time.Duration {
			calls <- struct{}{}
			return time.Minute
		})
	}()
	<-calls
	require.Eventually(t, clk.HasWaiters, 10*time.Second, time.Millisecond)
	clk.Step(59 * time.Second)
	assert.Empty(t, calls)
	clk.Step(time.Second)
	<-calls
	cancel()
	<-done
}
