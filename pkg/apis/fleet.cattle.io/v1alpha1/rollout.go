package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutStrategy TODO.
type RolloutStrategy struct {
	// +nullable
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// +nullable
	MaxUnavailablePartitions *intstr.IntOrString `json:"maxUnavailablePartitions,omitempty"`
	// +nullable
	AutoPartitionSize *intstr.IntOrString `json:"autoPartitionSize,omitempty"`
	// +nullable
	AutoPartitionThreshold *int `json:"autoPartitionThreshold,omitempty"`
	// +nullable
	MaxNew *int `json:"maxNew,omitempty"`
	// +nullable
	Partitions []Partition `json:"partitions,omitempty"`
}

// Partition TODO.
type Partition struct {
	// +nullable
	Name            string                `json:"name,omitempty"`
	MaxUnavailable  *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	ClusterName     string                `json:"clusterName,omitempty"`
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	ClusterGroup    string                `json:"clusterGroup,omitempty"`
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// PartitionStatus TODO.
type PartitionStatus struct {
	// +nullable
	Name           string        `json:"name,omitempty"`
	Count          int           `json:"count,omitempty"`
	MaxUnavailable int           `json:"maxUnavailable,omitempty"`
	Unavailable    int           `json:"unavailable,omitempty"`
	Summary        BundleSummary `json:"summary,omitempty"`
}
