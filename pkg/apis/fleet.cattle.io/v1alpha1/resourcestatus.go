package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/summary"

	"k8s.io/apimachinery/pkg/types"
)

// ModifiedStatus is a resource that differs from what was applied.
type ModifiedStatus struct {
	// The kind of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Kind string `json:"kind,omitempty"`
	// The group and version of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	APIVersion string `json:"apiVersion,omitempty"`
	// The namespace of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Namespace string `json:"namespace,omitempty"`
	// The name of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
	// The resource is missing.
	Create bool `json:"missing,omitempty"`
	// A resource of that name is there, and belongs to somebody else.
	Exist bool `json:"exist,omitempty"`
	// The resource should not be there.
	Delete bool `json:"delete,omitempty"`
	// The change that would make the resource what it should be, as a JSON patch.
	// +nullable
	Patch string `json:"patch,omitempty"`
}

// NonReadyStatus is a resource that is not ready.
type NonReadyStatus struct {
	// The UID of the resource.
	// +nullable
	UID types.UID `json:"uid,omitempty"`
	// The kind of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Kind string `json:"kind,omitempty"`
	// The group and version of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	APIVersion string `json:"apiVersion,omitempty"`
	// The namespace of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Namespace string `json:"namespace,omitempty"`
	// The name of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
	// Its state and why.
	Summary summary.Summary `json:"summary,omitempty"`
}
