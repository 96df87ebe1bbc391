package v1alpha1

// BundleSummary TODO.
type BundleSummary struct {
	NotReady          int                `json:"notReady,omitempty"`
	WaitApplied       int                `json:"waitApplied,omitempty"`
	ErrApplied        int                `json:"errApplied,omitempty"`
	OutOfSync         int                `json:"outOfSync,omitempty"`
	Modified          int                `json:"modified,omitempty"`
	Ready             int                `json:"ready"`
	Pending           int                `json:"pending,omitempty"`
	DesiredReady      int                `json:"desiredReady"`
	NonReadyResources []NonReadyResource `json:"nonReadyResources,omitempty"`
}

// NonReadyResource TODO.
type NonReadyResource struct {
	Name           string           `json:"name,omitempty"`
	State          BundleState      `json:"bundleState,omitempty"`
	Message        string           `json:"message,omitempty"`
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
	NonReadyStatus []NonReadyStatus `json:"nonReadyStatus,omitempty"`
}

// ResourceCounts TODO.
type ResourceCounts struct {
	Ready        int `json:"ready"`
	DesiredReady int `json:"desiredReady"`
	WaitApplied  int `json:"waitApplied"`
	Modified     int `json:"modified"`
	Orphaned     int `json:"orphaned"`
	Missing      int `json:"missing"`
	Unknown      int `json:"unknown"`
	NotReady     int `json:"notReady"`
}
