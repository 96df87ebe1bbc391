package target

import fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"

// Explanation is why a cluster gets the bundle, or why not.
type Explanation struct {
	// Targeted says whether it does.
	Targeted bool
	// Reason says why, or why not, in one sentence.
	Reason string
	// Target is the name of the entry of spec.targets that chose the cluster, if one did.
	Target string
	// Customizations are the names of the entries whose options are used, in their order.
	Customizations []string
	// Restriction is the name of the entry of spec.targetRestrictions that allowed the cluster; empty without restrictions.
	Restriction string
	// Excluded is the name of the entry with doNotDeploy that matches.
	Excluded string
	// Groups are the names of the ClusterGroups that the cluster is in, sorted.
	Groups []string
	// Entries are all entries of spec.targets, in their order.
	Entries []Entry
	// Refusal is set where the cluster is chosen, and the options cannot be made.
	Refusal *Refusal
}

// Entry is one entry of spec.targets, seen from a cluster.
type Entry struct {
	// Name is its name, or the one that stands for it.
	Name string
	// Customizes says that it only changes options, and chooses no cluster.
	Customizes bool
	// Matches says whether the cluster meets all of its criteria, and Why says which one it does not.
	Matches bool
	Why     string
}

// Explain says why the cluster, which need not be one of the facts, gets the bundle or does not.
func Explain(facts Facts, cluster *fleet.Cluster) Explanation {
	return Explanation{}
}
