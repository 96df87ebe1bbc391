package kube

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
)

// retryJitter spreads retries, so that what failed together does not come back together: a delay is stretched by up to
// this share.
const retryJitter = 0.2

// Queue runs work by key, beside lasso: for calls to foreign clusters, which may hang until their deadline and must never
// hold a worker that others need. One key never runs twice at the same time. A key whose work fails comes back after a
// delay that doubles, each key on its own.
type Queue struct {
	name    string
	limiter workqueue.TypedRateLimiter[string]
	work    func(ctx context.Context, key string) error

	lock  sync.Mutex
	queue workqueue.TypedRateLimitingInterface[string]
	early map[string]time.Duration // what was added before Run
	// running are the workers there are, wanted those that there should be. start starts one, nil while none may begin.
	running, wanted int
	start           func()
}

// NewQueue makes a queue; nothing runs before Run. name is the queue's label in the workqueue metrics. The delay after a
// failure starts at base and is at most max, plus jitter.
func NewQueue(name string, workers int, base, max time.Duration, work func(ctx context.Context, key string) error) *Queue {
	return &Queue{
		name:    name,
		wanted:  workers,
		limiter: jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, max)},
		work:    work,
		early:   map[string]time.Duration{},
	}
}

// Add runs key as soon as a worker is free, whatever delay it had. Several calls before that make one run.
func (q *Queue) Add(key string) { q.AddAfter(key, 0) }

// AddAfter runs key after d. Of several times the earliest holds. It does not count as a failure.
func (q *Queue) AddAfter(key string, d time.Duration) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.queue != nil {
		q.queue.AddAfter(key, d)
		return
	}
	if have, ok := q.early[key]; !ok || d < have {
		q.early[key] = d
	}
}

// Forget lets the back-off of key start from the beginning, for a key whose inputs changed or that is gone.
func (q *Queue) Forget(key string) { q.limiter.Forget(key) }

// Run works until ctx is done and the last worker has returned.
func (q *Queue) Run(ctx context.Context) {
	queue := q.open()
	var workers sync.WaitGroup
	q.staff(func() {
		workers.Go(func() {
			for q.next(ctx, queue) && !q.isSurplus() {
			}
		})
	})
	<-ctx.Done()
	q.staff(nil)
	queue.ShutDown()
	workers.Wait()
}

// Lend has one more worker run, in place of one whose work only waits, until what it returns is called: then the first that
// has nothing to do any more goes. Only work that is under way may call it.
func (q *Queue) Lend() (back func()) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.wanted++
	q.grow()
	return sync.OnceFunc(func() {
		q.lock.Lock()
		defer q.lock.Unlock()
		q.wanted--
	})
}

// staff says how workers are started from now on.
func (q *Queue) staff(start func()) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.start = start
	q.grow()
}

// grow starts the workers that are missing. The lock is held.
func (q *Queue) grow() {
	for q.start != nil && q.running < q.wanted {
		q.running++
		q.start()
	}
}

// isSurplus says whether the worker that asks has to go.
func (q *Queue) isSurplus() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.running <= q.wanted {
		return false
	}
	q.running--
	return true
}

// open makes the queue, which starts goroutines and is therefore not made earlier.
func (q *Queue) open() workqueue.TypedRateLimitingInterface[string] {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.queue = workqueue.NewTypedRateLimitingQueueWithConfig(q.limiter, workqueue.TypedRateLimitingQueueConfig[string]{Name: q.name})
	for key, d := range q.early {
		q.queue.AddAfter(key, d)
	}
	q.early = nil
	return q.queue
}

func (q *Queue) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string]) bool {
	key, shutdown := queue.Get()
	if shutdown || ctx.Err() != nil {
		return false
	}
	defer queue.Done(key)
	err := q.safely(ctx, key)
	if err == nil {
		queue.Forget(key)
		return true
	}
	if ctx.Err() == nil {
		logrus.WithFields(logrus.Fields{"queue": q.name, "key": key, "failures": queue.NumRequeues(key) + 1}).
			Warnf("work failed, it will be tried again: %v", err)
		queue.AddRateLimited(key)
	}
	return true
}

// safely turns a panic into an error: one cluster's surprise must not end the work for all.
func (q *Queue) safely(ctx context.Context, key string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			logrus.WithFields(logrus.Fields{"queue": q.name, "key": key}).Errorf("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return q.work(ctx, key)
}

// jittered stretches the delays of a limiter.
type jittered struct {
	workqueue.TypedRateLimiter[string]
}

func (j jittered) When(key string) time.Duration {
	return wait.Jitter(j.TypedRateLimiter.When(key), retryJitter)
}
