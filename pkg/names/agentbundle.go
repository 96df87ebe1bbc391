package names

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IsAgentBundle says whether a Bundle is the one by which the hub keeps the agent of a Cluster current: it has the Cluster
// as its owner. The name alone says nothing, anybody may choose it.
func IsAgentBundle(bundle, cluster metav1.Object) bool {
	if bundle.GetNamespace() != cluster.GetNamespace() || bundle.GetName() != AgentBundle(cluster.GetName()) {
		return false
	}
	owned := false
	for _, ref := range bundle.GetOwnerReferences() {
		if ref.Kind != "Cluster" {
			continue
		}
		if ref.UID == cluster.GetUID() {
			return true
		}
		owned = true
	}
	return !owned && isOfWorkspace(bundle)
}

// isOfWorkspace is for bundles that the reference made: they belong to the set of their namespace, until this hub writes them.
func isOfWorkspace(bundle metav1.Object) bool {
	notes := bundle.GetAnnotations()
	return notes[ApplyPrefix+"id"] == SetManageAgent && notes[ApplyPrefix+"owner-gvk"] == "/v1, Kind=Namespace" &&
		notes[ApplyPrefix+"owner-name"] == bundle.GetNamespace()
}
