package v1alpha1

// BundleSummary counts deployments by their state.
type BundleSummary struct {
	// Applied, but some resource is not ready.
	NotReady int `json:"notReady,omitempty"`
	// Told to the agent, but not applied yet.
	WaitApplied int `json:"waitApplied,omitempty"`
	// Failed to apply.
	ErrApplied int `json:"errApplied,omitempty"`
	// A newer version is staged and not released.
	OutOfSync int `json:"outOfSync,omitempty"`
	// Applied and ready, but changed by others.
	Modified int `json:"modified,omitempty"`
	// Applied, ready and unchanged.
	Ready int `json:"ready"`
	// Waiting for their turn in the rollout.
	Pending int `json:"pending,omitempty"`
	// All of them.
	DesiredReady int `json:"desiredReady"`
	// Those that are not ready, at most ten.
	NonReadyResources []NonReadyResource `json:"nonReadyResources,omitempty"`
}

// NonReadyResource is something that is not ready: a deployment, or a bundle.
type NonReadyResource struct {
	// Its name.
	Name string `json:"name,omitempty"`
	// Its state.
	State BundleState `json:"bundleState,omitempty"`
	// What is wrong, as far as it is known.
	Message string `json:"message,omitempty"`
	// Its resources that differ from what was applied.
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
	// Its resources that are not ready.
	NonReadyStatus []NonReadyStatus `json:"nonReadyStatus,omitempty"`
}

// ResourceCounts counts resources on clusters by their state.
type ResourceCounts struct {
	// Ready and unchanged.
	Ready int `json:"ready"`
	// All that should be there.
	DesiredReady int `json:"desiredReady"`
	// Not applied yet.
	WaitApplied int `json:"waitApplied"`
	// Changed by others.
	Modified int `json:"modified"`
	// There, but no longer wanted.
	Orphaned int `json:"orphaned"`
	// Not there.
	Missing int `json:"missing"`
	// In a state that is not known.
	Unknown int `json:"unknown"`
	// There, but not ready.
	NotReady int `json:"notReady"`
}
