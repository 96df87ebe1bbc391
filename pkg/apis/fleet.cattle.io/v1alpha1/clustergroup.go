package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clustergroups,scope=Namespaced,categories=fleet
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Clusters-Ready",type=string,JSONPath=`.status.display.readyClusters`
// +kubebuilder:printcolumn:name="Bundles-Ready",type=string,JSONPath=`.status.display.readyBundles`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// ClusterGroup is a set of clusters of one namespace.
type ClusterGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which clusters belong to it.
	Spec ClusterGroupSpec `json:"spec"`
	// How they are.
	Status ClusterGroupStatus `json:"status"`
}

// ClusterGroupSpec is which clusters belong to a group.
type ClusterGroupSpec struct {
	// Selects Clusters by their labels. Without a selector the group is empty.
	// +nullable
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ClusterGroupStatus is how the clusters of a group are.
type ClusterGroupStatus struct {
	// How many clusters there are.
	ClusterCount int `json:"clusterCount"`
	// How many of them are not ready.
	NonReadyClusterCount int `json:"nonReadyClusterCount"`
	// Names of clusters that are not ready, at most ten.
	// +nullable
	NonReadyClusters []string `json:"nonReadyClusters,omitempty"`
	// Processed and Ready.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// How many bundles of these clusters are in which state.
	Summary BundleSummary `json:"summary,omitempty"`
	// What lists and user interfaces show.
	Display ClusterGroupDisplay `json:"display,omitempty"`
	// How many resources on these clusters are in which state.
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
}

// ClusterGroupDisplay is a group of clusters in words.
type ClusterGroupDisplay struct {
	// Ready clusters of all clusters, as "x/y", and names of those that are not.
	// +nullable
	ReadyClusters string `json:"readyClusters,omitempty"`
	// Ready bundles of all bundles, as "x/y".
	// +nullable
	ReadyBundles string `json:"readyBundles,omitempty"`
	// The worst state of a bundle.
	// +nullable
	State string `json:"state,omitempty"`
}
