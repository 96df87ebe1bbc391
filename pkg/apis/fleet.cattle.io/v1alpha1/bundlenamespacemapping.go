package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=bundlenamespacemappings,scope=Namespaced

// BundleNamespaceMapping TODO.
type BundleNamespaceMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +nullable
	BundleSelector *metav1.LabelSelector `json:"bundleSelector,omitempty"`
	// +nullable
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}
