package target

import fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"

// Verdict divides the deployments of a bundle that no target stands for.
type Verdict struct {
	// Remove are those that are proven to be no longer wanted.
	Remove []Removal
	// Keep are those of which that is not certain.
	Keep []Kept
}

// Removal is a deployment that is no longer wanted. Before it is removed, its Bundle and its Cluster are read live; Same
// says whether the proof still holds.
type Removal struct {
	Deployment *fleet.BundleDeployment
	// Cluster is the cluster as the proof saw it.
	Cluster *fleet.Cluster
	// Reason says why, in one sentence.
	Reason string
}

// Kept is a deployment that stays, and why.
type Kept struct {
	Deployment *fleet.BundleDeployment
	Reason     string
}

// Unwanted says which of the existing deployments of the bundle may be removed. outside are Clusters that exist in no
// candidate namespace, as far as deployments are there for them.
func Unwanted(facts Facts, targets []Target, refusals []Refusal, existing []*fleet.BundleDeployment, outside []*fleet.Cluster) Verdict {
	return Verdict{}
}

// Same says whether a Cluster that was read live is still, for targeting, the one that was seen.
func Same(seen, live *fleet.Cluster) bool {
	return false
}
