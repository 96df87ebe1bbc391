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

// Schedule TODO.
type Schedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ScheduleSpec   `json:"spec,omitempty"`
	Status ScheduleStatus `json:"status,omitempty"`
}

// ScheduleSpec TODO.
type ScheduleSpec struct {
	Schedule string `json:"schedule,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	Duration metav1.Duration `json:"duration,omitempty"`
	Location string          `json:"location,omitempty"`
	Targets  ScheduleTargets `json:"targets,omitempty"`
}

// ScheduleTargets TODO.
type ScheduleTargets struct {
	Clusters []ScheduleTarget `json:"clusters,omitempty"`
}

// ScheduleTarget TODO.
type ScheduleTarget struct {
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// +nullable
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	// +nullable
	ClusterGroup string `json:"clusterGroup,omitempty"`
	// +nullable
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// ScheduleStatus TODO.
type ScheduleStatus struct {
	Active           bool                                `json:"active,omitempty"`
	NextStartTime    metav1.Time                         `json:"nextStartTime,omitempty"`
	Conditions       []genericcondition.GenericCondition `json:"conditions,omitempty"`
	MatchingClusters []string                            `json:"matchingClusters,omitempty"`
}
