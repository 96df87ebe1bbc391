package helmdeployer

import (
	"context"
	"sync"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
)

// turns lets those take turns who work on the same release.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn
}

type turn struct {
	token   chan struct{}
	waiting int
}

// take waits for a turn. What it returns ends the turn, and may be called again.
func (t *turns) take(ctx context.Context, namespace, name string) (end func(), err error) {
	key := namespace + "/" + name
	t.mu.Lock()
	if t.busy == nil {
		t.busy = map[string]*turn{}
	}
	mine := t.busy[key]
	if mine == nil {
		mine = &turn{token: make(chan struct{}, 1)}
		t.busy[key] = mine
	}
	mine.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.waiting--; mine.waiting == 0 {
			delete(t.busy, key)
		}
	}
	end = sync.OnceFunc(func() { <-mine.token; leave() })
	select {
	case mine.token <- struct{}{}:
		return end, nil
	default:
	}
	defer cluster.Waiting(ctx)()
	select {
	case mine.token <- struct{}{}:
		return end, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
