package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=contents,scope=Cluster
// +kubebuilder:subresource:status

// Content TODO.
type Content struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +nullable
	Content   []byte        `json:"content,omitempty"`
	SHA256Sum string        `json:"sha256sum,omitempty"`
	Status    ContentStatus `json:"status,omitempty"`
}

// ContentStatus TODO.
type ContentStatus struct {
	ReferenceCount int `json:"referenceCount,omitempty"`
}
