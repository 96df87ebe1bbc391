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

// ClusterGroup TODO.
type ClusterGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterGroupSpec   `json:"spec"`
	Status ClusterGroupStatus `json:"status"`
}

// ClusterGroupSpec TODO.
type ClusterGroupSpec struct {
	// +nullable
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ClusterGroupStatus TODO.
type ClusterGroupStatus struct {
	ClusterCount         int `json:"clusterCount"`
	NonReadyClusterCount int `json:"nonReadyClusterCount"`
	// +nullable
	NonReadyClusters []string                            `json:"nonReadyClusters,omitempty"`
	Conditions       []genericcondition.GenericCondition `json:"conditions,omitempty"`
	Summary          BundleSummary                       `json:"summary,omitempty"`
	Display          ClusterGroupDisplay                 `json:"display,omitempty"`
	ResourceCounts   ResourceCounts                      `json:"resourceCounts,omitempty"`
}

// ClusterGroupDisplay TODO.
type ClusterGroupDisplay struct {
	// +nullable
	ReadyClusters string `json:"readyClusters,omitempty"`
	// +nullable
	ReadyBundles string `json:"readyBundles,omitempty"`
	// +nullable
	State string `json:"state,omitempty"`
}
