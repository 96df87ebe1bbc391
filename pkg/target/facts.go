package target

import (
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Facts is all that the choice of clusters and options for one bundle rests on.
type Facts struct {
	// Bundle is the bundle as it is stored, its values not yet in it.
	Bundle *fleet.Bundle
	// Clusters are those of all candidate namespaces, see Candidates.
	Clusters []*fleet.Cluster
	// Groups are the ClusterGroups of all candidate namespaces. A group counts for the clusters of its own namespace.
	Groups []*fleet.ClusterGroup
	// Values is the data of the bundle's values Secret, where spec.valuesHash names one: the bundle's own values in
	// values.yaml, those of a target under its name. Nil where there is no Secret.
	Values map[string][]byte
	// Restrictions are the GitRepoRestrictions of the bundle's namespace. They hold for bundles from a GitRepo.
	Restrictions []*fleet.GitRepoRestriction
}

// Target is a cluster that gets the bundle, and how.
type Target struct {
	Cluster *fleet.Cluster
	// Options are complete: merged, values rendered for this cluster, labels of the namespace included.
	Options fleet.BundleDeploymentOptions
	// NamespaceLabels and NamespaceAnnotations are those of Options, never nil.
	NamespaceLabels, NamespaceAnnotations map[string]string
	// DeploymentID names this version: the content and the options.
	DeploymentID string
	// Groups are the ClusterGroups that the cluster is in. A rollout can be divided by them.
	Groups []*fleet.ClusterGroup
}

// Key is the cluster's namespace and name.
func (t Target) Key() types.NamespacedName { return keyOf(t.Cluster) }

// Refusal is a cluster for which the bundle's options cannot be made, or which must be left alone. What it runs stays as
// it is: it is neither changed nor removed.
type Refusal struct {
	Cluster *fleet.Cluster
	// Field is what has to be mended, as the path in the Bundle, or in another object that it names.
	Field string
	// Err says what is wrong there. It is bounded, and printable.
	Err error
	// Quiet says that nothing is wrong: the cluster is being deleted, or was revoked.
	Quiet bool
}

// Error names cluster, field and reason, in one line.
func (r Refusal) Error() string {
	return "cluster " + r.Cluster.Namespace + "/" + r.Cluster.Name + ": " + r.Field + ": " + r.Err.Error()
}

// Unwrap gives the reason.
func (r Refusal) Unwrap() error { return r.Err }

// Key is the cluster's namespace and name.
func (r Refusal) Key() types.NamespacedName { return keyOf(r.Cluster) }

func keyOf(c *fleet.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}
