package stage

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Contents reads the objects of keys, which a Snapshot found. Those that are gone meanwhile are left out.
func (c *Cluster) Contents(ctx context.Context, keys []Key) (map[Key]*unstructured.Unstructured, error) {
	kinds, err := c.listable()
	if err != nil {
		return nil, err
	}
	resources := map[schema.GroupKind]schema.GroupVersionResource{}
	for resource, kind := range kinds {
		resources[schema.GroupKind{Group: resource.Group, Kind: kind}] = resource
	}
	var mu sync.Mutex
	out := map[Key]*unstructured.Unstructured{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for _, key := range keys {
		resource, ok := resources[schema.GroupKind{Group: key.Group, Kind: key.Kind}]
		if !ok {
			continue // its definition went, and all its objects with it
		}
		group.Go(func() error {
			obj, err := c.Dynamic.Resource(resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("reading %s on %s: %w", key, c.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[key] = obj
			return nil
		})
	}
	return out, group.Wait()
}
