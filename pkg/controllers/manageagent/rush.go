package manageagent

import (
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

const (
	// rush is how many requests without an answer are one: fewer are answered before a bundle is written.
	rush = 10
	// yields is after what time a bundle that gave way is looked at again, and longestYield when it gives way no more,
	// counted from the moment at which its cluster registered.
	yields       = 2 * time.Second
	longestYield = time.Minute
	// unseenFor is how long a first bundle that was written is not written again though the cache does not show it: a cache
	// is behind for seconds while many join. One that somebody deletes before it was seen comes back after this time.
	unseenFor = 5 * time.Second
)

// unseen is how long a first bundle is left alone that the cache may not show yet, 0 where it shows it, or nobody wrote one.
func (h *handler) unseen(f facts, now time.Time) time.Duration {
	if f.bundle != nil {
		return 0
	}
	return max(unseenFor-h.recent.since(f.cluster, now), 0)
}

// givesWay is how long a first bundle waits for agents that have no answer yet, 0 where it is written now. A running agent
// misses nothing until its first upgrade, but its bundle, deployment and statuses are half of what a join costs the hub.
func (h *handler) givesWay(f facts, now time.Time) time.Duration {
	if f.bundle != nil || h.Waiting == nil || now.Sub(registeredAt(f.cluster)) >= longestYield || h.Waiting() < rush {
		return 0
	}
	return yields
}

// registeredAt is when a cluster registered, the beginning of time where nobody says.
func registeredAt(c *fleet.Cluster) time.Time {
	registered := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionRegistered)
	if registered == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, registered.LastTransitionTime)
	if err != nil {
		return time.Time{}
	}
	return at
}
