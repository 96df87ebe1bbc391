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

// BundleDeployment is a bundle on one cluster. It lives in the cluster's namespace, where that cluster's
// agent reads it and reports back.
type BundleDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the agent is to deploy.
	Spec BundleDeploymentSpec `json:"spec,omitempty"`
	// What the agent has deployed.
	Status BundleDeploymentStatus `json:"status,omitempty"`
}

// BundleDeploymentSpec is what an agent deploys. A change is staged first and released by the rollout.
type BundleDeploymentSpec struct {
	// Keeps the agent from applying changes.
	Paused bool `json:"paused,omitempty"`
	// The options of the version that waits for its turn in the rollout.
	StagedOptions BundleDeploymentOptions `json:"stagedOptions,omitempty"`
	// The identifier of the version that waits for its turn in the rollout.
	// +nullable
	StagedDeploymentID string `json:"stagedDeploymentID,omitempty"`
	// The options of the version that the agent is to deploy.
	Options BundleDeploymentOptions `json:"options,omitempty"`
	// The identifier of the version that the agent is to deploy: the name of its content and a digest of its
	// options.
	// +nullable
	DeploymentID string `json:"deploymentID,omitempty"`
	// Bundles that must be in an accepted state on this cluster first.
	// +nullable
	DependsOn []BundleRef `json:"dependsOn,omitempty"`
	// What the agent does about changes that others make to the resources.
	CorrectDrift *CorrectDrift `json:"correctDrift,omitempty"`
	// The content is in an OCI registry.
	OCIContents bool `json:"ociContents,omitempty"`
	// Access to the Helm repository. Its presence means that the agent fetches the chart itself.
	HelmChartOptions *BundleHelmOptions `json:"helmChartOptions,omitempty"`
	// A digest of the Helm values, which are kept in a Secret.
	// +nullable
	ValuesHash string `json:"valuesHash,omitempty"`
	// Changes whenever an object that is copied to the cluster has changed.
	DownstreamResourcesGeneration int64 `json:"downstreamResourcesGeneration,omitempty"`
	// The cluster is outside its schedule, and the agent applies nothing.
	OffSchedule bool `json:"offSchedule,omitempty"`
	// The Secret with the Helm values is not there yet, and the agent waits for it.
	WaitingForValues bool `json:"waitingForValues,omitempty"`
}

// BundleDeploymentStatus is what an agent reports about one bundle.
type BundleDeploymentStatus struct {
	// Installed, Deployed, Monitored and Ready.
	// +nullable
	// +kubebuilder:validation:MaxItems=64
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// The identifier of the version that was applied last.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	AppliedDeploymentID string `json:"appliedDeploymentID,omitempty"`
	// The Helm release, as "namespace/name:revision".
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Release string `json:"release,omitempty"`
	// All resources are ready.
	Ready bool `json:"ready,omitempty"`
	// No resource differs from what was applied.
	NonModified bool `json:"nonModified,omitempty"`
	// Resources that are not ready, at most ten.
	// +nullable
	// +kubebuilder:validation:MaxItems=100
	NonReadyStatus []NonReadyStatus `json:"nonReadyStatus,omitempty"`
	// Resources that differ from what was applied, at most ten.
	// +nullable
	// +kubebuilder:validation:MaxItems=100
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
	// There are more such resources than the lists hold.
	IncompleteState bool `json:"incompleteState,omitempty"`
	// What lists and user interfaces show.
	// +nullable
	Display BundleDeploymentDisplay `json:"display,omitempty"`
	// The forceSyncGeneration that was applied last.
	// +nullable
	SyncGeneration *int64 `json:"syncGeneration,omitempty"`
	// The resources of the release that exist on the cluster.
	// +nullable
	// +kubebuilder:validation:MaxItems=10000
	Resources []BundleDeploymentResource `json:"resources,omitempty"`
	// How many resources are in which state.
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
	// The downstreamResourcesGeneration that was applied last.
	DownstreamResourcesGeneration int64 `json:"downstreamResourcesGeneration,omitempty"`
}

// BundleDeploymentDisplay is a bundle deployment in words.
type BundleDeploymentDisplay struct {
	// Whether it is deployed, or the error.
	// +nullable
	// +kubebuilder:validation:MaxLength=65536
	Deployed string `json:"deployed,omitempty"`
	// Whether it is monitored, or the error.
	// +nullable
	// +kubebuilder:validation:MaxLength=65536
	Monitored string `json:"monitored,omitempty"`
	// Its state.
	// +nullable
	// +kubebuilder:validation:MaxLength=256
	State string `json:"state,omitempty"`
}

// BundleDeploymentResource is a resource of the release that exists on the cluster.
type BundleDeploymentResource struct {
	// The kind of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Kind string `json:"kind,omitempty"`
	// The group and version of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	APIVersion string `json:"apiVersion,omitempty"`
	// The namespace of the resource, empty for cluster-scoped resources.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Namespace string `json:"namespace,omitempty"`
	// The name of the resource.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
	// When the resource was created.
	// +nullable
	CreatedAt metav1.Time `json:"createdAt,omitempty"`
}
