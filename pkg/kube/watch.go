package kube

import (
	"context"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Watched is a kind whose changes concern another.
type Watched interface {
	Informer() cache.SharedIndexInformer
}

// Watch has the keys that resolve names enqueued when an object of one of the watched kinds is created, changed or
// deleted. It is relatedresource.Watch with three differences. It follows the events of the API server, and not the runs
// of the watched kind's handlers: two kinds that watch each other would else wake each other without end. A deletion that
// a broken watch missed is told with the last object that was known. And nothing waits a second.
//
// At a deletion resolve is called twice: with no object, and with the last one.
func Watch(ctx context.Context, name string, resolve relatedresource.Resolver, enqueue relatedresource.Enqueuer, watched ...Watched) {
	w := &watcher{name: name, resolve: resolve, enqueue: enqueue}
	for _, kind := range watched {
		informer := kind.Informer()
		registration, err := informer.AddEventHandler(w)
		if err != nil {
			logrus.WithField("watch", name).Errorf("A watch could not be started: %v", err)
			continue
		}
		context.AfterFunc(ctx, func() {
			if err := informer.RemoveEventHandler(registration); err != nil {
				logrus.WithField("watch", name).Warnf("A watch could not be ended: %v", err)
			}
		})
	}
}

// WatchClusterScoped is Watch for keys of a kind without namespaces.
func WatchClusterScoped(ctx context.Context, name string, resolve relatedresource.Resolver, enqueue relatedresource.ClusterScopedEnqueuer, watched ...Watched) {
	Watch(ctx, name, resolve, withoutNamespace{enqueue}, watched...)
}

type withoutNamespace struct {
	relatedresource.ClusterScopedEnqueuer
}

func (e withoutNamespace) Enqueue(_, name string) { e.ClusterScopedEnqueuer.Enqueue(name) }

type watcher struct {
	name    string
	resolve relatedresource.Resolver
	enqueue relatedresource.Enqueuer
}

// OnAdd is called for every object of the first list too: the kinds that watch are then looked at anyway.
func (w *watcher) OnAdd(obj any, _ bool) { w.tell(obj, false) }

// OnUpdate leaves out what did not change. What an object named before counts too: it may have moved.
func (w *watcher) OnUpdate(before, now any) {
	if sameVersion(before, now) {
		return
	}
	w.tell(before, false)
	w.tell(now, false)
}

func sameVersion(before, now any) bool {
	older, err1 := meta.Accessor(before)
	newer, err2 := meta.Accessor(now)
	return err1 == nil && err2 == nil && older.GetResourceVersion() == newer.GetResourceVersion() && older.GetUID() == newer.GetUID()
}

func (w *watcher) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	w.tell(obj, true)
}

func (w *watcher) tell(obj any, gone bool) {
	object, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	if gone {
		w.enqueueFor(accessor.GetNamespace(), accessor.GetName(), nil)
	}
	w.enqueueFor(accessor.GetNamespace(), accessor.GetName(), object)
}

func (w *watcher) enqueueFor(namespace, name string, obj runtime.Object) {
	keys, err := w.resolve(namespace, name, obj)
	if err != nil {
		logrus.WithField("watch", w.name).Errorf("Whom a change of %s/%s concerns could not be found out: %v", namespace, name, err)
	}
	for _, key := range keys {
		if key.Name != "" {
			w.enqueue.Enqueue(key.Namespace, key.Name)
		}
	}
}
