package controllertest

import (
	"context"
	"time"

	"github.com/rancher/wrangler/v3/pkg/generic"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Controller is a controller of a namespaced kind. What it does not implement panics.
type Controller[T generic.RuntimeMetaObject, L runtime.Object] struct {
	generic.ControllerInterface[T, L]
	*Store[T]
}

// New is an empty controller of a namespaced kind.
func New[T generic.RuntimeMetaObject, L runtime.Object](group, resource string) *Controller[T, L] {
	return &Controller[T, L]{Store: newStore[T](schema.GroupResource{Group: group, Resource: resource})}
}

// Cache shows what the cache has.
func (c *Controller[T, L]) Cache() generic.CacheInterface[T] {
	return generic.NewCache[T](c.cached, c.resource)
}

// Informer is none: what is written here need not come back.
func (c *Controller[T, L]) Informer() cache.SharedIndexInformer { return nil }

// Get asks the API server.
func (c *Controller[T, L]) Get(namespace, name string, _ metav1.GetOptions) (T, error) {
	return c.get(join(namespace, name))
}

// Create asks the API server.
func (c *Controller[T, L]) Create(obj T) (T, error) { return c.create(obj) }

// Update asks the API server.
func (c *Controller[T, L]) Update(obj T) (T, error) { return c.update("update", obj) }

// UpdateStatus asks the API server.
func (c *Controller[T, L]) UpdateStatus(obj T) (T, error) { return c.update("updateStatus", obj) }

// Patch asks the API server; it knows merge patches alone.
func (c *Controller[T, L]) Patch(namespace, name string, pt types.PatchType, data []byte, _ ...string) (T, error) {
	return c.patch(join(namespace, name), pt, data)
}

// Delete asks the API server.
func (c *Controller[T, L]) Delete(namespace, name string, options *metav1.DeleteOptions) error {
	return c.delete(join(namespace, name), options)
}

// OnChange does nothing: tests call handlers themselves.
func (c *Controller[T, L]) OnChange(context.Context, string, generic.ObjectHandler[T]) {}

// Enqueue notes that a key is to run at once.
func (c *Controller[T, L]) Enqueue(namespace, name string) { c.enqueue(join(namespace, name), 0) }

// EnqueueAfter notes when a key is to run.
func (c *Controller[T, L]) EnqueueAfter(namespace, name string, d time.Duration) {
	c.enqueue(join(namespace, name), d)
}

// ClusterController is a controller of a kind without namespaces. What it does not implement panics.
type ClusterController[T generic.RuntimeMetaObject, L runtime.Object] struct {
	generic.NonNamespacedControllerInterface[T, L]
	*Store[T]
}

// NewCluster is an empty controller of a kind without namespaces.
func NewCluster[T generic.RuntimeMetaObject, L runtime.Object](group, resource string) *ClusterController[T, L] {
	return &ClusterController[T, L]{Store: newStore[T](schema.GroupResource{Group: group, Resource: resource})}
}

// Cache shows what the cache has.
func (c *ClusterController[T, L]) Cache() generic.NonNamespacedCacheInterface[T] {
	return generic.NewNonNamespacedCache[T](c.cached, c.resource)
}

// Get asks the API server.
func (c *ClusterController[T, L]) Get(name string, _ metav1.GetOptions) (T, error) {
	return c.get(name)
}

// Create asks the API server.
func (c *ClusterController[T, L]) Create(obj T) (T, error) { return c.create(obj) }

// Update asks the API server.
func (c *ClusterController[T, L]) Update(obj T) (T, error) { return c.update("update", obj) }

// Delete asks the API server.
func (c *ClusterController[T, L]) Delete(name string, options *metav1.DeleteOptions) error {
	return c.delete(name, options)
}

// OnChange does nothing: tests call handlers themselves.
func (c *ClusterController[T, L]) OnChange(context.Context, string, generic.ObjectHandler[T]) {}

// Enqueue notes that a key is to run at once.
func (c *ClusterController[T, L]) Enqueue(name string) { c.enqueue(name, 0) }

// EnqueueAfter notes when a key is to run.
func (c *ClusterController[T, L]) EnqueueAfter(name string, d time.Duration) { c.enqueue(name, d) }
