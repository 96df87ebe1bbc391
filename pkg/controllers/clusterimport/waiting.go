package clusterimport

import (
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// takenSweep is how often a place that is another's is looked at although nothing of it changed on this hub.
const takenSweep = 10 * time.Minute

// wait is whom a refused Cluster waits for.
type wait struct {
	place  place
	holder registration.AgentOwner
}

// awaitPlace has a refused Cluster looked at again when the one that has its place loses it, and now and then.
func (h *handler) awaitPlace(c *fleet.Cluster, refusal *takenError) {
	key := c.Namespace + "/" + c.Name
	h.mu.Lock()
	delete(h.waiting, key)
	if refusal.holder.Name != "" {
		h.waiting[key] = wait{refusal.place, refusal.holder}
	}
	h.mu.Unlock()
	h.queue.AddAfter(key, takenSweep)
	// The holder may have lost it before this was noted.
	h.Clusters.EnqueueAfter(c.Namespace, c.Name, 0)
}

// stopWaiting is for a Cluster that has its place.
func (h *handler) stopWaiting(c *fleet.Cluster) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, c.Namespace+"/"+c.Name)
}

// awaited is whether the place that a Cluster waits for is still another's, as a part of what a decision rests on.
func (h *handler) awaited(key string) string {
	h.mu.Lock()
	w, ok := h.waiting[key]
	h.mu.Unlock()
	if !ok {
		return ""
	}
	holder, err := h.Clusters.Cache().Get(w.holder.Namespace, w.holder.Name)
	if err != nil || !holds(holder, w.holder, w.place) {
		return "free of " + w.holder.Cluster
	}
	return "held by " + w.holder.Cluster
}

// clustersWaitingFor finds the Clusters that wait for what another one has.
func (h *handler) clustersWaitingFor(namespace, name string, _ runtime.Object) (keys []relatedresource.Key, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, w := range h.waiting {
		if w.holder.Namespace == namespace && w.holder.Name == name {
			keys = append(keys, relatedresource.FromString(key))
		}
	}
	return keys, nil
}
