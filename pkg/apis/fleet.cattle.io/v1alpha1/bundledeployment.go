package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=bundledeployments,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Deployed",type=string,JSONPath=`.status.display.deployed`
// +kubebuilder:printcolumn:name="Monitored",type=string,JSONPath=`.status.display.monitored`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// BundleDeployment TODO.
type BundleDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BundleDeploymentSpec   `json:"spec,omitempty"`
	Status BundleDeploymentStatus `json:"status,omitempty"`
}

// BundleDeploymentSpec TODO.
type BundleDeploymentSpec struct {
	Paused        bool                    `json:"paused,omitempty"`
	StagedOptions BundleDeploymentOptions `json:"stagedOptions,omitempty"`
	// +nullable
	StagedDeploymentID string                  `json:"stagedDeploymentID,omitempty"`
	Options            BundleDeploymentOptions `json:"options,omitempty"`
	// +nullable
	DeploymentID string `json:"deploymentID,omitempty"`
	// +nullable
	DependsOn        []BundleRef        `json:"dependsOn,omitempty"`
	CorrectDrift     *CorrectDrift      `json:"correctDrift,omitempty"`
	OCIContents      bool               `json:"ociContents,omitempty"`
	HelmChartOptions *BundleHelmOptions `json:"helmChartOptions,omitempty"`
	// +nullable
	ValuesHash                    string `json:"valuesHash,omitempty"`
	DownstreamResourcesGeneration int64  `json:"downstreamResourcesGeneration,omitempty"`
	OffSchedule                   bool   `json:"offSchedule,omitempty"`
	WaitingForValues              bool   `json:"waitingForValues,omitempty"`
}

// BundleDeploymentStatus TODO.
type BundleDeploymentStatus struct {
	// +nullable
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// +nullable
	AppliedDeploymentID string `json:"appliedDeploymentID,omitempty"`
	// +nullable
	Release     string `json:"release,omitempty"`
	Ready       bool   `json:"ready,omitempty"`
	NonModified bool   `json:"nonModified,omitempty"`
	// +nullable
	NonReadyStatus []NonReadyStatus `json:"nonReadyStatus,omitempty"`
	// +nullable
	ModifiedStatus  []ModifiedStatus `json:"modifiedStatus,omitempty"`
	IncompleteState bool             `json:"incompleteState,omitempty"`
	// +nullable
	Display BundleDeploymentDisplay `json:"display,omitempty"`
	// +nullable
	SyncGeneration *int64 `json:"syncGeneration,omitempty"`
	// +nullable
	Resources                     []BundleDeploymentResource `json:"resources,omitempty"`
	ResourceCounts                ResourceCounts             `json:"resourceCounts,omitempty"`
	DownstreamResourcesGeneration int64                      `json:"downstreamResourcesGeneration,omitempty"`
}

// BundleDeploymentDisplay TODO.
type BundleDeploymentDisplay struct {
	// +nullable
	Deployed string `json:"deployed,omitempty"`
	// +nullable
	Monitored string `json:"monitored,omitempty"`
	// +nullable
	State string `json:"state,omitempty"`
}

// BundleDeploymentResource TODO.
type BundleDeploymentResource struct {
	// +nullable
	Kind string `json:"kind,omitempty"`
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	CreatedAt metav1.Time `json:"createdAt,omitempty"`
}
