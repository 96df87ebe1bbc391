package kube

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// recentVersions and recentObjects bound what is remembered.
	recentVersions = 4096
	recentObjects  = 256
	// RecentLife is how long Recent remembers. A cache has surely seen by then what was written, unless its watch is
	// broken or the API server was restored from a backup: who left something undone because of what Recent said looks
	// again after this time.
	RecentLife = 30 * time.Second
)

// Recent remembers for a moment what a handler wrote, since caches are behind: with it a handler does not do again what it
// has just done because the cache does not show it yet. The zero value does not work, see NewRecent.
type Recent[T metav1.Object] struct {
	// versions are the latest that were written, by UID; one that was deleted has none.
	versions *cache.LRUExpireCache
	// objects are what Find finds, by name.
	objects *cache.LRUExpireCache
	life    time.Duration
}

// NewRecent remembers nothing yet.
func NewRecent[T metav1.Object]() *Recent[T] {
	return NewRecentOf[T](recentObjects, RecentLife)
}

// NewRecentOf is NewRecent for who writes many objects at once: Find finds the last so many, for so long. An API server ends
// the watch of who does not follow so many events, and the cache then waits for up to half a minute, and lists anew.
func NewRecentOf[T metav1.Object](objects int, life time.Duration) *Recent[T] {
	return &Recent[T]{
		versions: cache.NewLRUExpireCache(max(objects, recentVersions)), objects: cache.NewLRUExpireCache(objects), life: life,
	}
}

// deleted is the version of an object that is gone.
const deleted = ""

// Wrote notes an object as the API server returned it.
func (r *Recent[T]) Wrote(obj T) {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	if known, ok := r.version(uid); !ok || known != deleted && isOlder(known, version) {
		r.versions.Add(uid, version, r.life)
	}
}

// Created notes an object that was created or changed so that Find finds it.
func (r *Recent[T]) Created(obj T) {
	r.Wrote(obj)
	r.objects.Add(keyOf(obj), obj, r.life)
}

// Seen notes that the cache has shown an object, or that it was deleted: what the cache says of it holds from now on.
func (r *Recent[T]) Seen(obj T) {
	have, ok := r.objects.Get(keyOf(obj))
	if known, is := have.(T); ok && is && known.GetUID() == obj.GetUID() && !isOlder(obj.GetResourceVersion(), known.GetResourceVersion()) {
		r.objects.Remove(keyOf(obj))
	}
}

// Deleted notes that the object with that UID is gone.
func (r *Recent[T]) Deleted(uid types.UID) { r.versions.Add(uid, deleted, r.life) }

// IsBehind says that an object from a cache is not the latest: it was changed or deleted here since. The event that tells
// the cache so is yet to come, and brings its key back.
func (r *Recent[T]) IsBehind(cached T) bool {
	known, ok := r.version(cached.GetUID())
	return ok && (known == deleted || isOlder(cached.GetResourceVersion(), known))
}

// IsDeleted says that an object that a cache still shows was deleted here.
func (r *Recent[T]) IsDeleted(cached T) bool {
	known, ok := r.version(cached.GetUID())
	return ok && known == deleted
}

// Find is an object that was created here under a name, was not deleted here since, and that the cache has not shown yet:
// somebody else may have deleted it, of which only Seen tells.
func (r *Recent[T]) Find(namespace, name string) (T, bool) {
	var none T
	have, ok := r.objects.Get(objectKey(namespace + "/" + name))
	obj, is := have.(T)
	if !ok || !is || r.IsDeleted(obj) {
		return none, false
	}
	return obj, true
}

func (r *Recent[T]) version(uid types.UID) (string, bool) {
	have, ok := r.versions.Get(uid)
	version, is := have.(string)
	return version, ok && is
}

type objectKey string

func keyOf(obj metav1.Object) objectKey { return objectKey(obj.GetNamespace() + "/" + obj.GetName()) }

// isOlder compares versions of one object. Versions that cannot be compared tell nothing.
func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
