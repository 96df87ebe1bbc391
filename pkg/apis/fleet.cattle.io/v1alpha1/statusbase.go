package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"
)

// StatusBase TODO.
type StatusBase struct {
	ReadyClusters            int                                 `json:"readyClusters"`
	DesiredReadyClusters     int                                 `json:"desiredReadyClusters"`
	Summary                  BundleSummary                       `json:"summary,omitempty"`
	Display                  StatusDisplay                       `json:"display,omitempty"`
	Conditions               []genericcondition.GenericCondition `json:"conditions,omitempty"`
	Resources                []Resource                          `json:"resources,omitempty"`
	ResourceCounts           ResourceCounts                      `json:"resourceCounts,omitempty"`
	PerClusterResourceCounts map[string]*ResourceCounts          `json:"perClusterResourceCounts,omitempty"`
}

// StatusDisplay TODO.
type StatusDisplay struct {
	ReadyBundleDeployments string `json:"readyBundleDeployments,omitempty"`
	State                  string `json:"state,omitempty"`
	Message                string `json:"message,omitempty"`
	Error                  bool   `json:"error,omitempty"`
}

// Resource TODO.
type Resource struct {
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Kind string `json:"kind,omitempty"`
	Type string `json:"type,omitempty"`
	// +nullable
	ID string `json:"id,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Name            string `json:"name,omitempty"`
	IncompleteState bool   `json:"incompleteState,omitempty"`
	State           string `json:"state,omitempty"`
	Error           bool   `json:"error,omitempty"`
	Transitioning   bool   `json:"transitioning,omitempty"`
	// +nullable
	Message string `json:"message,omitempty"`
	// +nullable
	// +required
	PerClusterState PerClusterState `json:"perClusterState"`
}

// PerClusterState TODO.
type PerClusterState struct {
	Ready       []string `json:"ready,omitempty"`
	WaitApplied []string `json:"waitApplied,omitempty"`
	Pending     []string `json:"pending,omitempty"`
	Modified    []string `json:"modified,omitempty"`
	Orphaned    []string `json:"orphaned,omitempty"`
	Missing     []string `json:"missing,omitempty"`
	Unknown     []string `json:"unknown,omitempty"`
	NotReady    []string `json:"notReady,omitempty"`
}
