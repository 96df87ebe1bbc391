package kube

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// recentObjects bounds what is remembered.
	recentObjects = 2048
	// recentLife is when a cache has surely seen what was written. To forget earlier costs a request or two, never more.
	recentLife = 30 * time.Second
)

// Recent remembers for a moment what a handler wrote, since caches are behind: with it a handler does not do again what it
// has just done because the cache does not show it yet. It only ever saves requests; what it forgot is done again, which
// changes nothing. The zero value does not work, see NewRecent.
type Recent[T metav1.Object] struct{ written *cache.LRUExpireCache }

// NewRecent remembers nothing yet.
func NewRecent[T metav1.Object]() *Recent[T] {
	return &Recent[T]{written: cache.NewLRUExpireCache(recentObjects)}
}

// deleted stands for an object that was deleted.
type deleted struct{}

// Wrote notes an object as the API server returned it.
func (r *Recent[T]) Wrote(obj T) {
	if have, ok := r.written.Get(obj.GetUID()); ok {
		if known, ok := have.(T); !ok || olderThan(obj, known) {
			return
		}
	}
	r.written.Add(obj.GetUID(), obj, recentLife)
	r.written.Add(keyOf(obj.GetNamespace(), obj.GetName()), obj, recentLife)
}

// Seen notes that the cache has shown an object, or that it was deleted: what the cache says of it holds from now on.
func (r *Recent[T]) Seen(obj T) {
	for _, key := range []any{obj.GetUID(), keyOf(obj.GetNamespace(), obj.GetName())} {
		have, ok := r.written.Get(key)
		if known, is := have.(T); ok && is && known.GetUID() == obj.GetUID() && !olderThan(obj, known) {
			r.written.Remove(key)
		}
	}
}

// Deleted notes that the object with that UID is gone.
func (r *Recent[T]) Deleted(uid types.UID) { r.written.Add(uid, deleted{}, recentLife) }

// IsBehind says that an object from a cache is not the latest: it was changed or deleted since. The event that tells the
// cache so is yet to come, and brings its key back.
func (r *Recent[T]) IsBehind(cached T) bool {
	have, ok := r.written.Get(cached.GetUID())
	if !ok {
		return false
	}
	known, ok := have.(T)
	return !ok || olderThan(cached, known)
}

// IsDeleted says that an object that a cache still shows was deleted here.
func (r *Recent[T]) IsDeleted(cached T) bool {
	have, ok := r.written.Get(cached.GetUID())
	if !ok {
		return false
	}
	_, gone := have.(deleted)
	return gone
}

// Find is an object that was written here under a name, was not deleted here since, and that the cache has not shown yet:
// somebody else may have deleted it, of which only Seen tells.
func (r *Recent[T]) Find(namespace, name string) (T, bool) {
	var none T
	have, ok := r.written.Get(keyOf(namespace, name))
	if !ok {
		return none, false
	}
	obj, ok := have.(T)
	if !ok || r.IsDeleted(obj) {
		return none, false
	}
	return obj, true
}

type objectKey string

func keyOf(namespace, name string) objectKey { return objectKey(namespace + "/" + name) }

// olderThan compares versions of one object. Versions that cannot be compared tell nothing.
func olderThan(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
