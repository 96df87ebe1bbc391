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

// Content is the resources of a bundle, compressed. Its name is a digest of what it holds, and whoever knows
// the name may read it.
type Content struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The resources, as compressed JSON.
	// +nullable
	Content []byte `json:"content,omitempty"`
	// The SHA-256 of the content.
	SHA256Sum string `json:"sha256sum,omitempty"`
	// Who needs the content.
	Status ContentStatus `json:"status,omitempty"`
}

// ContentStatus is who needs a content.
type ContentStatus struct {
	// How many bundle deployments refer to the content.
	ReferenceCount int `json:"referenceCount,omitempty"`
}
