package target

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Verdict divides the deployments of a bundle that no target stands for.
type Verdict struct {
	// Remove are those that are proven to be no longer wanted.
	Remove []Removal
	// Keep are those of which that is not certain.
	Keep []Kept
}

// Removal is a deployment that is no longer wanted. The proof rests on caches: before it is removed, its Bundle and its
// Cluster are read live, for which Same says whether the proof still holds, and with the groups, mappings and labels of
// namespaces that the API server has it is made anew.
type Removal struct {
	Deployment *fleet.BundleDeployment
	// Cluster is the cluster as the proof saw it.
	Cluster *fleet.Cluster
	// AbsentGroups are ClusterGroups that the bundle's targets name and that the facts do not have. Where one exists after
	// all, nothing is proven.
	AbsentGroups []types.NamespacedName
	// Reason says why, in one sentence.
	Reason string
}

// Kept is a deployment that stays, and why.
type Kept struct {
	Deployment *fleet.BundleDeployment
	Reason     string
}

// Unwanted says which of the existing deployments of the bundle may be removed, sorted by namespace. outside are Clusters
// that exist, have a deployment of the bundle, and are in no candidate namespace; there are none as long as MappingsProblem
// says that this is not certain. What is known of neither kind of cluster stays.
func Unwanted(facts Facts, targets []Target, refusals []Refusal, existing []*fleet.BundleDeployment, outside []*fleet.Cluster) Verdict {
	j := &judge{
		facts: facts, owners: map[string][]owner{},
		wanted: map[types.NamespacedName]bool{}, refused: map[types.NamespacedName]Refusal{},
	}
	j.add(facts.Clusters, false)
	j.add(outside, true)
	for _, t := range targets {
		j.wanted[t.Key()] = true
	}
	for _, r := range refusals {
		j.refused[r.Key()] = r
	}
	for _, bd := range slices.SortedFunc(slices.Values(existing), byKey) {
		j.judge(bd)
	}
	return j.verdict
}

type judge struct {
	facts Facts
	// owners are the clusters by the namespace that their deployments are in: one each, if all is well.
	owners  map[string][]owner
	wanted  map[types.NamespacedName]bool
	refused map[types.NamespacedName]Refusal
	verdict Verdict
}

// owner is a cluster that says that a namespace is its own. outside says that it is in no candidate namespace.
type owner struct {
	*fleet.Cluster
	outside bool
}

func (j *judge) add(clusters []*fleet.Cluster, outside bool) {
	for _, cluster := range clusters {
		if namespace := cluster.Status.Namespace; namespace != "" {
			j.owners[namespace] = append(j.owners[namespace], owner{cluster, outside})
		}
	}
}

func (j *judge) judge(bd *fleet.BundleDeployment) {
	if bd.DeletionTimestamp != nil {
		return
	}
	owners := j.owners[bd.Namespace]
	if j.ours(bd) && len(owners) == 1 && j.wanted[keyOf(owners[0].Cluster)] {
		return
	}
	if reason := j.doubt(bd, owners); reason != "" {
		j.verdict.Keep = append(j.verdict.Keep, Kept{Deployment: bd, Reason: reason})
		return
	}
	removal := Removal{Deployment: bd, Cluster: owners[0].Cluster}
	if owners[0].outside {
		removal.Reason = "the bundle may no longer target clusters of the namespace " + removal.Cluster.Namespace
	} else {
		removal.Reason = "the bundle no longer targets the cluster"
		removal.AbsentGroups = j.absentGroups(removal.Cluster)
	}
	j.verdict.Remove = append(j.verdict.Remove, removal)
}

// doubt says why it is not certain that a deployment is not wanted; empty if it is.
func (j *judge) doubt(bd *fleet.BundleDeployment, owners []owner) string {
	switch {
	case !j.ours(bd):
		return "its labels say that it is of another bundle"
	case len(owners) == 0:
		return "no cluster is known that has its namespace"
	case len(owners) > 1:
		return fmt.Sprintf("more than one cluster says that its namespace is theirs: %s and %s", keyOf(owners[0].Cluster), keyOf(owners[1].Cluster))
	case bd.Spec.OffSchedule:
		return "its cluster is outside of its schedule"
	}
	cluster := owners[0].Cluster
	if why := leftAlone(cluster); why != nil {
		return why.err.Error()
	}
	if refusal, ok := j.refused[keyOf(cluster)]; ok {
		return "it is not certain whether its cluster is targeted: " + refusal.Field + ": " + refusal.Err.Error()
	}
	if recreated(bd, cluster) {
		return "its cluster was created anew, without any labels: they may have been lost"
	}
	return ""
}

// ours says whether the deployment is one of this bundle.
func (j *judge) ours(bd *fleet.BundleDeployment) bool {
	bundle := j.facts.Bundle
	return bd.Name == bundle.Name && bd.Labels[fleet.BundleNamespaceLabel] == bundle.Namespace &&
		bd.Labels[fleet.BundleLabel] == names.LabelValue(bundle.Name)
}

// recreated says whether the cluster is younger than its deployment and has no labels. One that was restored, or written
// anew by a program that adds the labels later, looks like this for a while. Who takes the last label away from a cluster
// that is older means it.
func recreated(bd *fleet.BundleDeployment, cluster *fleet.Cluster) bool {
	return len(cluster.Labels) == 0 && bd.CreationTimestamp.Before(&cluster.CreationTimestamp)
}

// absentGroups are the groups that would choose the cluster if they existed.
func (j *judge) absentGroups(cluster *fleet.Cluster) []types.NamespacedName {
	named := map[string]bool{}
	for _, target := range j.facts.Bundle.Spec.Targets {
		named[target.ClusterGroup] = true
	}
	for _, restriction := range j.facts.Bundle.Spec.TargetRestrictions {
		named[restriction.ClusterGroup] = true
	}
	delete(named, "")
	for _, group := range j.facts.Groups {
		if group.Namespace == cluster.Namespace {
			delete(named, group.Name)
		}
	}
	var absent []types.NamespacedName
	for _, name := range slices.Sorted(maps.Keys(named)) {
		absent = append(absent, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
	}
	return absent
}

func byKey(a, b *fleet.BundleDeployment) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Same says whether a Cluster that was read live is still, for targeting, the one that was seen. None is another.
func Same(seen, live *fleet.Cluster) bool {
	return seen != nil && live != nil && seen.UID == live.UID && keyOf(seen) == keyOf(live) &&
		seen.Status.Namespace == live.Status.Namespace && maps.Equal(seen.Labels, live.Labels) &&
		leftAlone(seen) == nil && leftAlone(live) == nil
}
