package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutStrategy limits how many clusters are changed at the same time. Clusters are divided into
// partitions, and the rollout goes through them in order.
type RolloutStrategy struct {
	// How many clusters of a bundle may be unavailable during the rollout: a number, or a percentage. All of
	// them by default.
	// +nullable
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// How many partitions may be unavailable before the rollout waits: a number, or a percentage. None by
	// default.
	// +nullable
	MaxUnavailablePartitions *intstr.IntOrString `json:"maxUnavailablePartitions,omitempty"`
	// The size of the partitions when none are given: a number, or a percentage. It is 25% by default.
	// +nullable
	AutoPartitionSize *intstr.IntOrString `json:"autoPartitionSize,omitempty"`
	// The number of clusters from which on partitions are made when none are given. It is 200 by default.
	// +nullable
	AutoPartitionThreshold *int `json:"autoPartitionThreshold,omitempty"`
	// How many deployments are made in one pass. 50 by default.
	// +nullable
	MaxNew *int `json:"maxNew,omitempty"`
	// The partitions, in the order of the rollout. Clusters that belong to none of them come last, together.
	// +nullable
	Partitions []Partition `json:"partitions,omitempty"`
}

// Partition is a group of clusters in a rollout.
type Partition struct {
	// The name of the partition, shown in the status.
	// +nullable
	Name string `json:"name,omitempty"`
	// How many clusters of the partition may be unavailable: a number, or a percentage. As many as in the whole
	// rollout by default.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// The name of a Cluster, or its label management.cattle.io/cluster-display-name.
	ClusterName string `json:"clusterName,omitempty"`
	// Selects Clusters by their labels.
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// The name of a ClusterGroup.
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// Selects ClusterGroups by their labels.
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// PartitionStatus is how far a partition has come.
type PartitionStatus struct {
	// The name of the partition.
	// +nullable
	Name string `json:"name,omitempty"`
	// How many clusters the partition has.
	Count int `json:"count,omitempty"`
	// How many of them may be unavailable.
	MaxUnavailable int `json:"maxUnavailable,omitempty"`
	// How many of them are unavailable.
	Unavailable int `json:"unavailable,omitempty"`
	// How many of them are in which state.
	Summary BundleSummary `json:"summary,omitempty"`
}
