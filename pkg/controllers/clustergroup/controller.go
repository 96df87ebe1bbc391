package clustergroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

const (
	handlerName = "fleet-cluster-group"
	// gather is how long the news of a group's clusters is gathered.
	gather = time.Second
)

// Deps is what this controller works with.
type Deps struct {
	Groups   fleetv1.ClusterGroupController
	Clusters fleetv1.ClusterController
	Clock    clock.PassiveClock
}

type handler struct{ Deps }

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{Deps: deps}
	deps.Groups.OnChange(ctx, handlerName, h.onChange)
	kube.Watch(ctx, handlerName+"-clusters", h.groupsOf, kube.Debounced(deps.Groups, gather), deps.Clusters)
	kube.Sweep(ctx, kube.SweepInterval, deps.Groups.Cache().List, deps.Groups.EnqueueAfter)
}

// groupsOf are the groups that a Cluster belongs to. At a change it is asked for the Cluster as it was and as it is, so
// that the group which it leaves hears of it too.
func (h *handler) groupsOf(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	c, ok := obj.(*fleet.Cluster)
	if !ok {
		return nil, nil
	}
	groups, err := h.Groups.Cache().List(namespace, labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("groups of Cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	var keys []relatedresource.Key
	for _, group := range groups {
		if selector, err := selectorOf(group); err == nil && selector.Matches(labels.Set(c.Labels)) {
			keys = append(keys, relatedresource.Key{Namespace: group.Namespace, Name: group.Name})
		}
	}
	return keys, nil
}

func (h *handler) onChange(_ string, group *fleet.ClusterGroup) (*fleet.ClusterGroup, error) {
	if group == nil || group.DeletionTimestamp != nil {
		return group, nil
	}
	now := h.Clock.Now()
	selector, err := selectorOf(group)
	if err != nil {
		return group, h.tell(group, func(s *fleet.ClusterGroupStatus) { refused(s, err, now) })
	}
	members, err := h.Clusters.Cache().List(group.Namespace, selector)
	if err != nil {
		return group, fmt.Errorf("clusters of ClusterGroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	counted := figuresOf(slices.DeleteFunc(members, func(c *fleet.Cluster) bool { return c.DeletionTimestamp != nil }))
	return group, h.tell(group, func(s *fleet.ClusterGroupStatus) { counted.into(s, now) })
}

func (h *handler) tell(group *fleet.ClusterGroup, mutate func(*fleet.ClusterGroupStatus)) error {
	_, err := kube.UpdateStatus(h.Groups, group.Namespace, group.Name, kube.ClusterGroupStatus, mutate)
	if err != nil {
		return fmt.Errorf("ClusterGroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}
