package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/summary"

	"k8s.io/apimachinery/pkg/types"
)

// ModifiedStatus TODO.
type ModifiedStatus struct {
	// +nullable
	Kind string `json:"kind,omitempty"`
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Name   string `json:"name,omitempty"`
	Create bool   `json:"missing,omitempty"`
	Exist  bool   `json:"exist,omitempty"`
	Delete bool   `json:"delete,omitempty"`
	// +nullable
	Patch string `json:"patch,omitempty"`
}

// NonReadyStatus TODO.
type NonReadyStatus struct {
	// +nullable
	UID types.UID `json:"uid,omitempty"`
	// +nullable
	Kind string `json:"kind,omitempty"`
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Name    string          `json:"name,omitempty"`
	Summary summary.Summary `json:"summary,omitempty"`
}
