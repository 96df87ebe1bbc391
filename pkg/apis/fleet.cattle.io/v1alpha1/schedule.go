package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=schedules,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Duration",type=string,JSONPath=`.spec.duration`
// +kubebuilder:printcolumn:name="Active",type=boolean,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="NextStart",type=string,JSONPath=`.status.nextStartTime`

// Schedule limits when clusters of its namespace are changed.
type Schedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// When, and which clusters.
	Spec ScheduleSpec `json:"spec,omitempty"`
	// Whether it is now.
	Status ScheduleStatus `json:"status,omitempty"`
}

// ScheduleSpec is when which clusters may be changed.
type ScheduleSpec struct {
	// When the time begins, as a cron expression whose first field is the second.
	Schedule string `json:"schedule,omitempty"`
	// How long it lasts. It must be shorter than the time between two beginnings.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	Duration metav1.Duration `json:"duration,omitempty"`
	// The time zone, by its IANA name.
	Location string `json:"location,omitempty"`
	// Which clusters.
	Targets ScheduleTargets `json:"targets,omitempty"`
}

// ScheduleTargets is which clusters a schedule applies to.
type ScheduleTargets struct {
	// The clusters. One of these must match.
	Clusters []ScheduleTarget `json:"clusters,omitempty"`
}

// ScheduleTarget chooses clusters. If several criteria are given, a cluster must match all of them; without
// any, none matches.
type ScheduleTarget struct {
	// A name for people. It has no effect.
	// +nullable
	Name string `json:"name,omitempty"`
	// The name of a Cluster, or its label management.cattle.io/cluster-display-name.
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// Selects Clusters by their labels.
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// The name of a ClusterGroup.
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// Selects ClusterGroups by their labels.
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// ScheduleStatus is whether clusters may be changed now.
type ScheduleStatus struct {
	// They may be changed now.
	Active bool `json:"active,omitempty"`
	// When the time begins next.
	NextStartTime metav1.Time `json:"nextStartTime,omitempty"`
	// Ready is False if the schedule cannot be understood.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// The clusters that the schedule applies to.
	MatchingClusters []string `json:"matchingClusters,omitempty"`
}
