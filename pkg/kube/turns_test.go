package kube

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
)

// busyQueue has workers as a controller has, each of which is busy with an object until it is let go on.
type busyQueue struct {
	queue   workqueue.TypedInterface[relatedresource.Key]
	turns   *Turns
	work    func(relatedresource.Key)
	workers sync.WaitGroup
}

func newBusyQueue(share, workers int, work func(relatedresource.Key)) *busyQueue {
	q := &busyQueue{queue: workqueue.NewTyped[relatedresource.Key](), work: work}
	q.turns = NewTurns(share, func(namespace, name string) { q.queue.Add(relatedresource.NewKey(namespace, name)) })
	for range workers {
		q.workers.Go(q.run)
	}
	return q
}

func (q *busyQueue) run() {
	for {
		key, ended := q.queue.Get()
		if ended {
			return
		}
		if q.turns.Enter(key.Namespace, key.Name) {
			q.work(key)
			q.turns.Leave(key.Namespace)
		}
		q.queue.Done(key)
	}
}

// A workspace with thousands of objects in the queue does not hold up the one of another.
func TestOneNamespaceDoesNotHoldUpAnother(t *testing.T) {
	const many, workers, share = 5000, 50, 40
	var busy, most, done atomic.Int64
	seen := make([]atomic.Int64, many)
	before := make(chan int64, 1)
	q := newBusyQueue(share, workers, func(key relatedresource.Key) {
		if key.Namespace == "quiet" {
			before <- done.Load()
			return
		}
		now := busy.Add(1)
		for {
			if m := most.Load(); now <= m || most.CompareAndSwap(m, now) {
				break
			}
		}
		time.Sleep(time.Millisecond) // what a call to the API server takes, at the least
		var n int
		_, _ = fmt.Sscan(key.Name, &n)
		seen[n].Add(1)
		busy.Add(-1)
		done.Add(1)
	})
	defer func() { q.queue.ShutDown(); q.workers.Wait() }()
	for n := range many {
		q.queue.Add(relatedresource.NewKey("busy", fmt.Sprint(n)))
	}
	q.queue.Add(relatedresource.NewKey("quiet", "one"))

	assert.Less(t, <-before, int64(many/2), "how many were before it")
	require.Eventually(t, func() bool { return done.Load() == many }, time.Minute, time.Millisecond)
	assert.LessOrEqual(t, most.Load(), int64(share))
	for n := range seen {
		require.Equal(t, int64(1), seen[n].Load(), "object %d", n)
	}
	require.Eventually(t, func() bool { return q.turns.empty() }, time.Minute, time.Millisecond, "nothing is kept")
}

func (t *Turns) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rooms) == 0
}

func TestWhoWaitsIsCalledInOrderAndOnce(t *testing.T) {
	var called []string
	turns := NewTurns(1, func(_, name string) { called = append(called, name) })
	require.True(t, turns.Enter("w", "a"))
	require.False(t, turns.Enter("w", "b"))
	require.False(t, turns.Enter("w", "c"))
	require.False(t, turns.Enter("w", "b"), "an event while it waits")
	require.True(t, turns.Enter("other", "x"))

	turns.Leave("w")
	assert.Equal(t, []string{"b"}, called)
	assert.False(t, turns.Enter("w", "d"), "a place is kept for who was called")
	assert.True(t, turns.Enter("w", "b"))
	turns.Leave("w")
	assert.Equal(t, []string{"b", "c"}, called)

	turns.Forget("w", "c")
	assert.Equal(t, []string{"b", "c", "d"}, called, "who is gone keeps nobody waiting")
	assert.True(t, turns.Enter("w", "d"))
	require.False(t, turns.Enter("w", "e"))
	turns.Forget("w", "e")
	turns.Leave("w")
	assert.Equal(t, []string{"b", "c", "d"}, called)
	turns.Leave("other")
	turns.Forget("nowhere", "x")
	assert.True(t, turns.empty())
}
