package kube

import (
	"slices"
	"sync"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
)

// Turns gives each namespace a share of the workers of a kind at most, so that one with thousands of objects to be looked
// at does not hold up the one object of another. What has no turn waits outside of the queue, and is called in order.
type Turns struct {
	share int
	call  func(namespace, name string)

	mu    sync.Mutex
	rooms map[string]*room
}

// room is what is known of a namespace that has somebody inside or waiting.
type room struct {
	inside int
	// called are to come in next; a place is kept for them.
	called  map[string]bool
	waiting []string
	waits   map[string]bool
}

// NewTurns are turns of which a namespace has as many at once as its share. call puts an object into the queue again.
func NewTurns(share int, call func(namespace, name string)) *Turns {
	return &Turns{share: share, call: call, rooms: map[string]*room{}}
}

// Enter says whether an object's turn has come. If it has, Leave has to follow; if not, it is called later.
func (t *Turns) Enter(namespace, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[namespace]
	if r == nil {
		r = &room{called: map[string]bool{}, waits: map[string]bool{}}
		t.rooms[namespace] = r
	}
	if r.called[name] || r.inside+len(r.called) < t.share {
		r.drop(name)
		r.inside++
		return true
	}
	if !r.waits[name] {
		r.waits[name] = true
		r.waiting = append(r.waiting, name)
	}
	return false
}

// Leave ends a turn.
func (t *Turns) Leave(namespace string) { t.next(namespace, func(r *room) { r.inside-- }) }

// Forget is for an object that is gone: it keeps no place, and needs none.
func (t *Turns) Forget(namespace, name string) { t.next(namespace, func(r *room) { r.drop(name) }) }

func (t *Turns) next(namespace string, change func(*room)) {
	for _, key := range t.free(namespace, change) {
		t.call(key.Namespace, key.Name) // not under the lock: the queue has its own
	}
}

func (t *Turns) free(namespace string, change func(*room)) (next []relatedresource.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[namespace]
	if r == nil {
		return nil
	}
	change(r)
	for len(r.waiting) > 0 && r.inside+len(r.called) < t.share {
		name := r.waiting[0]
		r.waiting = r.waiting[1:]
		delete(r.waits, name)
		r.called[name] = true
		next = append(next, relatedresource.NewKey(namespace, name))
	}
	if r.inside == 0 && len(r.called) == 0 {
		delete(t.rooms, namespace)
	}
	return next
}

// drop takes a name out of those that are called or wait.
func (r *room) drop(name string) {
	delete(r.called, name)
	if r.waits[name] {
		delete(r.waits, name)
		r.waiting = slices.DeleteFunc(r.waiting, func(w string) bool { return w == name })
	}
}
