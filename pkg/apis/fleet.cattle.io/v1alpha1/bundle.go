package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=bundles,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="BundleDeployments-Ready",type=string,JSONPath=`.status.display.readyClusters`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// Bundle TODO.
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BundleSpec   `json:"spec"`
	Status BundleStatus `json:"status"`
}

// BundleSpec TODO.
type BundleSpec struct {
	BundleDeploymentOptions `json:",inline"`
	Paused                  bool `json:"paused,omitempty"`
	// +nullable
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	// +nullable
	Resources []BundleResource `json:"resources,omitempty"`
	// +kubebuilder:validation:Enum=FirstMatch;AllMatches
	// +kubebuilder:default=FirstMatch
	TargetCustomizationMode TargetCustomizationMode   `json:"targetCustomizationMode,omitempty"`
	Targets                 []BundleTarget            `json:"targets,omitempty"`
	TargetRestrictions      []BundleTargetRestriction `json:"targetRestrictions,omitempty"`
	// +nullable
	DependsOn []BundleRef `json:"dependsOn,omitempty"`
	// +nullable
	ContentsID string `json:"contentsId,omitempty"`
	// +nullable
	HelmOpOptions *BundleHelmOptions `json:"helmOpOptions,omitempty"`
	ValuesHash    string             `json:"valuesHash,omitempty"`
}

// BundleResource TODO.
type BundleResource struct {
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	Content string `json:"content,omitempty"`
	// +nullable
	Encoding string `json:"encoding,omitempty"`
}

// BundleRef TODO.
type BundleRef struct {
	// +nullable
	Name string `json:"name,omitempty"`
	// +nullable
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// +nullable
	AcceptedStates []BundleState `json:"acceptedStates,omitempty"`
}

// BundleHelmOptions TODO.
type BundleHelmOptions struct {
	SecretName            string `json:"helmOpSecretName,omitempty"`
	InsecureSkipTLSverify bool   `json:"helmOpInsecureSkipTLSVerify,omitempty"`
	// +nullable
	CABundle []byte `json:"helmOpCABundle,omitempty"`
}

// BundleStatus TODO.
type BundleStatus struct {
	Conditions               []genericcondition.GenericCondition `json:"conditions,omitempty"`
	Summary                  BundleSummary                       `json:"summary,omitempty"`
	NewlyCreated             int                                 `json:"newlyCreated,omitempty"`
	Unavailable              int                                 `json:"unavailable"`
	UnavailablePartitions    int                                 `json:"unavailablePartitions"`
	MaxUnavailable           int                                 `json:"maxUnavailable"`
	MaxUnavailablePartitions int                                 `json:"maxUnavailablePartitions"`
	PartitionStatus          []PartitionStatus                   `json:"partitions,omitempty"`
	Display                  BundleDisplay                       `json:"display,omitempty"`
	// +nullable
	ResourceKey        []ResourceKey `json:"resourceKey,omitempty"`
	OCIReference       string        `json:"ociReference,omitempty"`
	ObservedGeneration int64         `json:"observedGeneration"`
	ResourcesSHA256Sum string        `json:"resourcesSha256Sum,omitempty"`
}

// BundleDisplay TODO.
type BundleDisplay struct {
	// +nullable
	ReadyClusters string `json:"readyClusters,omitempty"`
	// +nullable
	State string `json:"state,omitempty"`
}

// ResourceKey TODO.
type ResourceKey struct {
	// +nullable
	Kind string `json:"kind,omitempty"`
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// +nullable
	Name string `json:"name,omitempty"`
}
