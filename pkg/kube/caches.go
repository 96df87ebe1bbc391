package kube

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// caches is lasso's cache factory, which knows in addition what was asked of it, and keeps managedFields out of memory.
type caches struct {
	cache.SharedCacheFactory
	options *cache.SharedCacheFactoryOptions

	lock  sync.Mutex
	known map[schema.GroupVersionKind]cached
}

// cached is one kind that is kept in memory.
type cached struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	namespaced bool
	informer   toolscache.SharedIndexInformer
}

func newCaches(factory cache.SharedCacheFactory, options *cache.SharedCacheFactoryOptions) *caches {
	return &caches{SharedCacheFactory: factory, options: options, known: map[schema.GroupVersionKind]cached{}}
}

// ForResourceKind is what controllers call to get their cache.
func (c *caches) ForResourceKind(gvr schema.GroupVersionResource, kind string, namespaced bool) (toolscache.SharedIndexInformer, error) {
	informer, err := c.SharedCacheFactory.ForResourceKind(gvr, kind, namespaced)
	if err != nil {
		return nil, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	gvk := gvr.GroupVersion().WithKind(kind)
	if _, ok := c.known[gvk]; ok {
		return informer, nil
	}
	c.known[gvk] = cached{gvk: gvk, gvr: gvr, namespaced: namespaced, informer: informer}
	return informer, informer.SetTransform(slimmed)
}

// all are the kinds asked for so far, ordered by name.
func (c *caches) all() []cached {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.SortedFunc(maps.Values(c.known), func(a, b cached) int {
		if a.gvk.String() < b.gvk.String() {
			return -1
		}
		return 1
	})
}

// unsynced are the kinds whose first list is not here yet.
func (c *caches) unsynced() []string {
	var kinds []string
	for _, kind := range c.all() {
		if !kind.informer.HasSynced() {
			kinds = append(kinds, kind.gvk.Kind)
		}
	}
	return kinds
}

// wait returns when every cache has its first list, and false when ctx ended before.
func (c *caches) wait(ctx context.Context) bool {
	var synced []toolscache.InformerSynced
	for _, kind := range c.all() {
		synced = append(synced, kind.informer.HasSynced)
	}
	return toolscache.WaitForCacheSync(ctx.Done(), synced...)
}

// alwaysHealthy keeps lasso from waiting for a healthy server after a failed list. That wait sleeps in steps of 15 seconds,
// all caches one after the other, and goes on after the context has ended; an informer's own back-off does the same better.
type alwaysHealthy struct {
	client.SharedClientFactory
}

// IsHealthy is what lasso asks in that wait.
func (alwaysHealthy) IsHealthy(context.Context) bool { return true }

// slimmed drops what nobody here reads and what is often the larger half of an object, and what is larger than it may be
// of a registration request, which strangers write.
func slimmed(obj any) (any, error) {
	switch obj := obj.(type) {
	case *fleet.ClusterRegistration:
		registration.Slim(obj)
	case *fleet.Content:
		obj.Content = nil // that it exists is all that the hub asks; its name says what is in it
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
