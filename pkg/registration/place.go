package registration

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// IsPlaceOf says whether a namespace is a Cluster's. That the Cluster's status says so is no proof: an agent can write
// there, and would be given rights, or a credential, in the namespace of another. An earlier Cluster of the same name left
// its namespace with its own UID: that one may hold its secrets. A namespace without any mark, of an installation before
// ours, is taken under the one name that follows from the Cluster's.
func IsPlaceOf(ns *corev1.Namespace, c *fleet.Cluster) bool {
	if owner, ok := names.ParseOwnerRef(ns.Annotations[names.OwnerAnnotation]); ok {
		return owner.UID == string(c.UID)
	}
	workspace, name := ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]
	if workspace == "" && name == "" {
		return ns.Name == names.ClusterNamespace(c.Namespace, c.Name)
	}
	return workspace == c.Namespace && name == c.Name
}
