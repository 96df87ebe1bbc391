package rancher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/e2e/stage"
)

// Reader is who reads along: Rancher's controllers and its user interface, which see every version of an object. It judges
// each by what they would stumble over.
type Reader struct {
	mu       sync.Mutex
	seen     map[string]int
	findings map[string]bool
}

// Watch reads until ctx ends.
func (c *Client) Watch(ctx context.Context) (*Reader, error) {
	r := &Reader{seen: map[string]int{}, findings: map[string]bool{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.hub.Dynamic, 0)
	var synced []cache.InformerSynced
	for _, resource := range []schema.GroupVersionResource{stage.Clusters, stage.Bundles, Groups, Deployments} {
		see := func(obj any) { r.see(resource.Resource, obj) }
		registered, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) },
		})
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", resource.Resource, err)
		}
		synced = append(synced, registered.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("watching the hub: %w", context.Cause(ctx))
	}
	return r, nil
}

func (r *Reader) see(resource string, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	problems := judge(resource, u)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[resource]++
	for _, problem := range problems {
		r.findings[fmt.Sprintf("%s %s/%s: %s", resource, u.GetNamespace(), u.GetName(), problem)] = true
	}
}

// Findings are what a reader has stumbled over, in order.
func (r *Reader) Findings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.findings))
}

// Seen is how many versions of objects there were, by resource.
func (r *Reader) Seen() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}
