package v1alpha1

// BundleState is the state of a bundle on one cluster, or the worst of several such states.
type BundleState string

const (
	// Ready means that everything is applied as wanted and works.
	Ready BundleState = "Ready"
	// NotReady means that everything is applied, and some of it does not work yet.
	NotReady BundleState = "NotReady"
	// Pending means that the cluster has not had its turn in the rollout.
	Pending BundleState = "Pending"
	// OutOfSync means that a newer version is staged for the cluster and not released to it.
	OutOfSync BundleState = "OutOfSync"
	// Modified means that what is on the cluster differs from what was applied.
	Modified BundleState = "Modified"
	// WaitApplied means that the cluster was told and has not applied it yet.
	WaitApplied BundleState = "WaitApplied"
	// ErrApplied means that the cluster tried and failed to apply it.
	ErrApplied BundleState = "ErrApplied"
)

// StateRank orders the states: the higher the number, the worse the state. The worst one represents a group.
var StateRank = map[BundleState]int{
	ErrApplied:  7,
	WaitApplied: 6,
	Modified:    5,
	OutOfSync:   4,
	Pending:     3,
	NotReady:    2,
	Ready:       1,
}

// TargetCustomizationMode says how many of a bundle's targets customize one cluster.
type TargetCustomizationMode string

const (
	// TargetCustomizationModeFirstMatch takes the first target that matches the cluster.
	TargetCustomizationModeFirstMatch TargetCustomizationMode = "FirstMatch"
	// TargetCustomizationModeAllMatches merges all targets that match the cluster, in their order.
	TargetCustomizationModeAllMatches TargetCustomizationMode = "AllMatches"
)
