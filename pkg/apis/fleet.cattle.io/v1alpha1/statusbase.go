package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"
)

// StatusBase is the part of the status that GitRepo and HelmOp share.
type StatusBase struct {
	// How many clusters are ready.
	ReadyClusters int `json:"readyClusters"`
	// How many clusters there are.
	DesiredReadyClusters int `json:"desiredReadyClusters"`
	// How many deployments are in which state.
	Summary BundleSummary `json:"summary,omitempty"`
	// What lists and user interfaces show.
	Display StatusDisplay `json:"display,omitempty"`
	// Ready, and what the kind adds.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// The resources on all clusters.
	Resources []Resource `json:"resources,omitempty"`
	// How many resources are in which state.
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
	// The same for each cluster, by "namespace/name".
	PerClusterResourceCounts map[string]*ResourceCounts `json:"perClusterResourceCounts,omitempty"`
}

// StatusDisplay is a status in words.
type StatusDisplay struct {
	// Ready deployments of all deployments, as "x/y".
	ReadyBundleDeployments string `json:"readyBundleDeployments,omitempty"`
	// The worst state of a deployment.
	State string `json:"state,omitempty"`
	// What is wrong.
	Message string `json:"message,omitempty"`
	// The message is an error.
	Error bool `json:"error,omitempty"`
}

// Resource is a resource as it is on all clusters.
type Resource struct {
	// The group and version of the resource.
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// The kind of the resource.
	// +nullable
	Kind string `json:"kind,omitempty"`
	// Group and kind in lower case, as user interfaces name them.
	Type string `json:"type,omitempty"`
	// The namespace and name of the resource.
	// +nullable
	ID string `json:"id,omitempty"`
	// The namespace of the resource.
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// The name of the resource.
	// +nullable
	Name string `json:"name,omitempty"`
	// Not everything is known about the resource.
	IncompleteState bool `json:"incompleteState,omitempty"`
	// The worst state that the resource has on a cluster.
	State string `json:"state,omitempty"`
	// The state is an error.
	Error bool `json:"error,omitempty"`
	// The state is about to change.
	Transitioning bool `json:"transitioning,omitempty"`
	// What is wrong.
	// +nullable
	Message string `json:"message,omitempty"`
	// The clusters by the state of the resource there.
	// +nullable
	// +required
	PerClusterState PerClusterState `json:"perClusterState"`
}

// PerClusterState lists clusters by the state that a resource has there.
type PerClusterState struct {
	// Ready and unchanged.
	Ready []string `json:"ready,omitempty"`
	// Not applied yet.
	WaitApplied []string `json:"waitApplied,omitempty"`
	// Waiting for their turn in the rollout.
	Pending []string `json:"pending,omitempty"`
	// Changed by others.
	Modified []string `json:"modified,omitempty"`
	// There, but no longer wanted.
	Orphaned []string `json:"orphaned,omitempty"`
	// Not there.
	Missing []string `json:"missing,omitempty"`
	// In a state that is not known.
	Unknown []string `json:"unknown,omitempty"`
	// There, but not ready.
	NotReady []string `json:"notReady,omitempty"`
}
