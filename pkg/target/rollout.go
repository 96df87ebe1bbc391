package target

import (
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Placement is a target and what there is of it.
type Placement struct {
	Target
	// Deployment is what exists, nil if there is none yet.
	Deployment *fleet.BundleDeployment
	// Offline says that the cluster is known to be silent. It is not counted as failed.
	Offline bool
}

// Step is what the rollout allows for one target now. The zero Step leaves the deployment's versions as they are.
type Step struct {
	// Create makes the deployment.
	Create bool
	// Stage writes the target's options and ID as the staged ones.
	Stage bool
	// Promote writes them as the current ones, too.
	Promote bool
	// Sync says that the current ID is the target's already: the options that are not part of it (diff, correctDrift) are
	// brought up to date.
	Sync bool
	// Wait says, for people, why the target does not go on.
	Wait string
}

// Plan is the next pass of a rollout.
type Plan struct {
	// Place has the step of every placement, by the cluster's namespace and name.
	Place map[types.NamespacedName]Step
	// Partitions are the partitions in their order, without their summaries; Members are the clusters of each.
	Partitions []fleet.PartitionStatus
	Members    [][]types.NamespacedName
	// NewlyCreated is how many deployments are made in this pass. More says that further ones may be made in the next.
	NewlyCreated int
	More         bool
	// What the status of the bundle says.
	Unavailable, MaxUnavailable                     int
	UnavailablePartitions, MaxUnavailablePartitions int
	// Wait says, for people, why the rollout does not go on; empty if it does, or is done.
	Wait string
}

// Rollout plans the next pass: which deployments are made, staged and released. An error is a limit of
// spec.rolloutStrategy that cannot be read; nothing changes until it is mended.
func Rollout(bundle *fleet.Bundle, placements []Placement) (Plan, error) {
	return Plan{}, nil
}
