package kube

import (
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
)

// Debounced enqueues on ctl after d, for Watch. However many events name a key within d, it runs once;
// 0 means at once. A controller's own Enqueue counts each call as a failure and slows the key down, this does not.
func Debounced(ctl interface {
	EnqueueAfter(namespace, name string, d time.Duration)
}, d time.Duration) relatedresource.Enqueuer {
	return debounced(func(namespace, name string) { ctl.EnqueueAfter(namespace, name, d) })
}

// DebouncedClusterScoped is Debounced for a kind without namespaces, for WatchClusterScoped.
func DebouncedClusterScoped(ctl interface {
	EnqueueAfter(name string, d time.Duration)
}, d time.Duration) relatedresource.ClusterScopedEnqueuer {
	return debouncedClusterScoped(func(name string) { ctl.EnqueueAfter(name, d) })
}

type debounced func(namespace, name string)

func (f debounced) Enqueue(namespace, name string) { f(namespace, name) }

type debouncedClusterScoped func(name string)

func (f debouncedClusterScoped) Enqueue(name string) { f(name) }
