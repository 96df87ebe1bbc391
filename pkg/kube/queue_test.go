package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run runs a queue until the test ends, and waits for its end.
func run(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); q.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		receive(t, ended, "the end of the queue")
	})
	t.Cleanup(stop)
	return stop
}

func TestAStuckKeyHoldsNoOther(t *testing.T) {
	done := make(chan string, 10)
	q := NewQueue("test", 2, time.Millisecond, time.Second, func(ctx context.Context, key string) error {
		if key == "stuck" {
			<-ctx.Done()
			return ctx.Err()
		}
		done <- key
		return nil
	})
	q.Add("stuck") // before Run: kept until then
	run(t, q)
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key)
	}

	got := []string{receive(t, done, "a key"), receive(t, done, "a key"), receive(t, done, "a key")}

	assert.ElementsMatch(t, []string{"a", "b", "c"}, got)
}

// Work that only waits costs nobody a worker, and when it has waited there are no more workers than before.
func TestAWorkerIsLentWhileWorkOnlyWaits(t *testing.T) {
	const waiting = 5
	var now, most atomic.Int32
	ready, done := make(chan struct{}), make(chan string, 100)
	waits := make(chan string, waiting)
	var q *Queue
	q = NewQueue("test", 1, time.Millisecond, time.Second, func(_ context.Context, key string) error {
		if strings.HasPrefix(key, "waits") {
			back := q.Lend()
			waits <- key
			<-ready
			back()
			back() // once is enough
			done <- key
			return nil
		}
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond) // the observation window of an overlap
		now.Add(-1)
		done <- key
		return nil
	})
	run(t, q)
	for i := range waiting {
		q.Add(fmt.Sprintf("waits-%d", i))
	}
	for range waiting {
		receive(t, waits, "one that waits")
	}
	q.Add("quick")
	assert.Equal(t, "quick", receive(t, done, "the one that does not wait"))

	close(ready)
	for range waiting {
		receive(t, done, "the end of one that waits")
	}
	// Workers that have nothing to do go when they had something.
	require.Eventually(t, func() bool {
		for i := range waiting + 1 {
			q.Add(fmt.Sprintf("last-%d", i))
		}
		for range waiting + 1 {
			receive(t, done, "another")
		}
		q.lock.Lock()
		defer q.lock.Unlock()
		return q.running == 1
	}, deadlineFor, time.Millisecond)
	most.Store(0)
	for i := range waiting {
		q.Add(fmt.Sprintf("single-%d", i))
	}
	for range waiting {
		receive(t, done, "another")
	}
	assert.EqualValues(t, 1, most.Load())
}

func TestOneKeyNeverRunsTwiceAtOnce(t *testing.T) {
	var now, most, runs atomic.Int32
	q := NewQueue("test", 4, time.Millisecond, time.Second, func(context.Context, string) error {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		runs.Add(1)
		time.Sleep(time.Millisecond) // the observation window of an overlap
		now.Add(-1)
		return nil
	})
	run(t, q)

	require.Eventually(t, func() bool { q.Add("k"); return runs.Load() > 20 }, deadlineFor, time.Millisecond)

	assert.EqualValues(t, 1, most.Load())
}

func TestAFailureComesBackLaterEachTime(t *testing.T) {
	const base = 40 * time.Millisecond
	times := make(chan time.Time, 10)
	var left atomic.Int32
	left.Store(3)
	q := NewQueue("test", 1, base, time.Second, func(context.Context, string) error {
		times <- time.Now()
		if left.Add(-1) >= 0 {
			return errors.New("not yet")
		}
		return nil
	})
	run(t, q)
	q.Add("k")

	var at []time.Time
	for range 4 {
		at = append(at, receive(t, times, "a run"))
	}
	for i, least := range []time.Duration{base, 2 * base, 4 * base} {
		assert.GreaterOrEqual(t, at[i+1].Sub(at[i]), least)
	}
	select {
	case <-times:
		t.Error("it ran again after it had succeeded")
	case <-time.After(10 * base): // the window in which it would
	}
}

func TestDelaysDoubleUpToALimitWithJitterAndForget(t *testing.T) {
	q := NewQueue("test", 1, time.Second, 10*time.Second, nil)
	for _, least := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		got := q.limiter.When("k")
		assert.GreaterOrEqual(t, got, least)
		assert.LessOrEqual(t, got, time.Duration(float64(least)*(1+retryJitter)))
	}
	assert.LessOrEqual(t, q.limiter.When("other"), 1200*time.Millisecond, "each key has its own")

	q.Forget("k")
	assert.LessOrEqual(t, q.limiter.When("k"), 1200*time.Millisecond)

	spread := map[time.Duration]bool{}
	for range 20 {
		q.Forget("k")
		spread[q.limiter.When("k")] = true
	}
	assert.Greater(t, len(spread), 1, "what failed together does not come back together")
}

func TestAPanicIsAFailureOfItsKeyAlone(t *testing.T) {
	quiet(t)
	done := make(chan string, 10)
	var panics atomic.Int32
	q := NewQueue("test", 1, time.Millisecond, 5*time.Millisecond, func(_ context.Context, key string) error {
		if key == "bad" {
			panics.Add(1)
			panic("surprise")
		}
		done <- key
		return nil
	})
	run(t, q)
	q.Add("bad")
	require.Eventually(t, func() bool { return panics.Load() >= 2 }, deadlineFor, time.Millisecond, "it is tried again")

	q.Add("good")

	assert.Equal(t, "good", receive(t, done, "the other key"))
}

func TestOfSeveralDelaysTheEarliestHolds(t *testing.T) {
	done := make(chan struct{}, 10)
	q := NewQueue("test", 1, time.Millisecond, time.Second, func(context.Context, string) error {
		done <- struct{}{}
		return nil
	})
	q.AddAfter("k", time.Hour)
	q.AddAfter("k", time.Millisecond)
	q.AddAfter("k", time.Hour)
	run(t, q)
	receive(t, done, "the early run")

	q.AddAfter("k", time.Hour)
	q.Add("k")
	receive(t, done, "the run at once")
}

func TestStopWaitsForTheWork(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	q := NewQueue("test", 2, time.Millisecond, time.Second, func(ctx context.Context, _ string) error {
		close(started)
		<-ctx.Done()
		<-finish
		finished.Store(true)
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); q.Run(ctx) }()
	q.Add("k")
	receive(t, started, "the work")
	cancel()
	select {
	case <-ended:
		t.Error("Run returned before the work did")
	case <-time.After(100 * time.Millisecond): // the window in which it would
	}

	close(finish)

	receive(t, ended, "the end of the queue")
	assert.True(t, finished.Load())
	q.Add("late") // no effect, no panic
}
