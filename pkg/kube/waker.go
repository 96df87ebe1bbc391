package kube

import (
	"sync"
	"time"
)

// Waker enqueues the keys that the events of other kinds name. While caches are filled there is an event for every object,
// and a controller that does not run yet remembers each call on its own: until Started, a key is passed on once.
type Waker struct {
	enqueue func(namespace, name string, d time.Duration)

	lock   sync.Mutex
	before map[[2]string]bool // nil once the controller runs
}

// NewWaker enqueues with the function given, which is a controller's EnqueueAfter.
func NewWaker(enqueue func(namespace, name string, d time.Duration)) *Waker {
	return &Waker{enqueue: enqueue, before: map[[2]string]bool{}}
}

// Wake has a key run after d. Of several times the earliest holds.
func (w *Waker) Wake(namespace, name string, d time.Duration) {
	if w.isKnown(namespace, name) {
		return
	}
	w.enqueue(namespace, name, d)
}

func (w *Waker) isKnown(namespace, name string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.before == nil {
		return false
	}
	key := [2]string{namespace, name}
	known := w.before[key]
	w.before[key] = true
	return known
}

// Started says that the controller runs: from now on every call counts. A handler says so itself.
func (w *Waker) Started() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.before = nil
}
