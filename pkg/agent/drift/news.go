package drift

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pauses between two notices about the same bundle. They grow while it goes on changing, so that a few workloads which
// never become ready cost little; a change of a spec, which may be drift, never waits long.
const (
	firstNotice = 50 * time.Millisecond
	maxSpec     = 500 * time.Millisecond
	maxStatus   = 15 * time.Second
	// calm is how long a bundle must not have changed until it is told of at once again.
	calm = time.Minute
)

// news collects what has changed, and tells it bundle by bundle.
type news struct {
	clock clock.WithTicker
	wake  chan struct{}

	lock    sync.Mutex
	bundles map[string]*notice
}

// notice is what there is to tell of a bundle, and what was told.
type notice struct {
	// due is zero if there is nothing to tell.
	due, last time.Time
	steps     int
}

func newNews(clk clock.WithTicker) *news {
	return &news{clock: clk, wake: make(chan struct{}, 1), bundles: map[string]*notice{}}
}

// add announces a change of a bundle, of a spec or of a status alone.
func (n *news) add(name string, inSpec bool) {
	n.lock.Lock()
	defer n.lock.Unlock()
	entry, known := n.bundles[name]
	if !known {
		entry = &notice{}
		n.bundles[name] = entry
	}
	now := n.clock.Now()
	if now.Sub(entry.last) > calm {
		entry.steps = 0
	}
	longest := maxStatus
	if inSpec {
		longest = maxSpec
	}
	due := now.Add(firstNotice)
	if earliest := entry.last.Add(growing(entry.steps, longest)); earliest.After(due) {
		due = earliest
	}
	if !entry.due.IsZero() && !due.Before(entry.due) {
		return
	}
	entry.due = due
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func growing(steps int, longest time.Duration) time.Duration {
	pause := firstNotice
	for i := 0; i < steps && pause < longest; i++ {
		pause *= 2
	}
	return min(pause, longest)
}

// settle takes back what was to be told.
func (n *news) settle(name string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if entry, known := n.bundles[name]; known {
		entry.due = time.Time{}
	}
}

func (n *news) forget(name string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.bundles, name)
}

// run tells until the context ends.
func (n *news) run(ctx context.Context, tell func(bundle string)) {
	for {
		names, next := n.due()
		for _, name := range names {
			tell(name)
		}
		if len(names) > 0 {
			continue
		}
		if !n.sleep(ctx, next) {
			return
		}
	}
}

// due takes what is to be told now, and says when there is more, zero if never.
func (n *news) due() (names []string, next time.Time) {
	n.lock.Lock()
	defer n.lock.Unlock()
	now := n.clock.Now()
	for name, entry := range n.bundles {
		switch {
		case entry.due.IsZero():
		case entry.due.After(now):
			if next.IsZero() || entry.due.Before(next) {
				next = entry.due
			}
		default:
			entry.due, entry.last = time.Time{}, now
			entry.steps++
			names = append(names, name)
		}
	}
	return names, next
}

// sleep waits until then, or for something new. It is false when the context has ended.
func (n *news) sleep(ctx context.Context, until time.Time) bool {
	var elapsed <-chan time.Time
	if !until.IsZero() {
		timer := n.clock.NewTimer(until.Sub(n.clock.Now()))
		defer timer.Stop()
		elapsed = timer.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-n.wake:
	case <-elapsed:
	}
	return ctx.Err() == nil
}
