package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleTarget chooses clusters and changes the bundle's options for them. If several criteria are given, a
// cluster must match all of them; without any, none matches.
type BundleTarget struct {
	BundleDeploymentOptions `json:",inline"`
	// A name for people. One is made if none is given.
	Name string `json:"name,omitempty"`
	// The name of a Cluster, or its label management.cattle.io/cluster-display-name.
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// Selects Clusters by their labels.
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// The name of a ClusterGroup.
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// Selects ClusterGroups by their labels.
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
	// Keeps the bundle from the clusters that match.
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`
	// The labels of the release's namespace. The whole set: others are removed.
	// +nullable
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// The annotations of the release's namespace. The whole set: others are removed.
	// +nullable
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
}

// BundleTargetRestriction allows clusters as targets, by the same criteria as BundleTarget.
type BundleTargetRestriction struct {
	// A name for people. It has no effect.
	// +nullable
	Name string `json:"name,omitempty"`
	// The name of a Cluster, or its label management.cattle.io/cluster-display-name.
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// Selects Clusters by their labels.
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// The name of a ClusterGroup.
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// Selects ClusterGroups by their labels.
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}
