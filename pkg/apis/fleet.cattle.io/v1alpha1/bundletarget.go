package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleTarget TODO.
type BundleTarget struct {
	BundleDeploymentOptions `json:",inline"`
	Name                    string `json:"name,omitempty"`
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
	DoNotDeploy          bool                  `json:"doNotDeploy,omitempty"`
	// +nullable
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// +nullable
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
}

// BundleTargetRestriction TODO.
type BundleTargetRestriction struct {
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}
