package kube

import (
	"sync"
	"time"

	"github.com/rancher/wrangler/v3/pkg/generic"
	"k8s.io/apimachinery/pkg/types"
)

// statuses is what UpdateStatus wrote last, for all controllers of the process: several of them write parts of one
// object's status, and a cache that does not show yet what one of them wrote would cost the next a conflict.
var statuses = &writtenStatuses{entries: map[statusKey]*writtenStatus{}}

// statusKey is an object of one cache.
type statusKey struct {
	cache any
	uid   types.UID
}

// writtenStatus is one object's. Who holds its lock writes that object's status, nobody else does.
type writtenStatus struct {
	lock sync.Mutex
	// users hold the lock, or wait for it.
	users int
	// version and status are as the API server returned them, at is when; an empty version says that nothing is known.
	version string
	status  any
	at      time.Time
}

type writtenStatuses struct {
	lock    sync.Mutex
	entries map[statusKey]*writtenStatus
	swept   time.Time
}

// statusKeyOf is false for a controller without a cache of its own.
func statusKeyOf[T generic.RuntimeMetaObject](ctl StatusController[T], obj T) (statusKey, bool) {
	cached, ok := ctl.(Watched)
	if !ok {
		return statusKey{}, false
	}
	informer := cached.Informer()
	return statusKey{informer, obj.GetUID()}, informer != nil && obj.GetUID() != ""
}

// enter waits for the turn to write an object's status. leave ends the turn.
func (w *writtenStatuses) enter(key statusKey) (e *writtenStatus, leave func()) {
	w.lock.Lock()
	e, ok := w.entries[key]
	if !ok {
		e = &writtenStatus{}
		w.entries[key] = e
	}
	e.users++
	w.lock.Unlock()
	e.lock.Lock()
	return e, func() {
		e.lock.Unlock()
		w.lock.Lock()
		defer w.lock.Unlock()
		e.users--
		if e.users == 0 && e.version == "" {
			delete(w.entries, key)
		}
		w.sweep(time.Now())
	}
}

// sweep forgets what every cache has seen by now. Entries that are in use are left alone.
func (w *writtenStatuses) sweep(now time.Time) {
	if now.Sub(w.swept) < RecentLife {
		return
	}
	w.swept = now
	for key, e := range w.entries {
		if e.users == 0 && now.Sub(e.at) >= RecentLife {
			delete(w.entries, key)
		}
	}
}

// latest is an object from the cache with the status that was written last, if the cache does not show that yet. It is the
// cache's own where it does.
func latest[T generic.RuntimeMetaObject, S any](e *writtenStatus, obj T, status func(T) *S) T {
	if e == nil || e.version == "" {
		return obj
	}
	known, ok := e.status.(S)
	if !ok || time.Since(e.at) >= RecentLife || !isOlder(obj.GetResourceVersion(), e.version) {
		e.version, e.status = "", nil
		return obj
	}
	newer := obj.DeepCopyObject().(T)
	*status(newer) = known
	newer.SetResourceVersion(e.version)
	return newer
}

func note[T generic.RuntimeMetaObject, S any](e *writtenStatus, obj T, status func(T) *S) {
	if e != nil {
		e.version, e.status, e.at = obj.GetResourceVersion(), *status(obj), time.Now()
	}
}
