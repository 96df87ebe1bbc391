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

// Bundle is a set of resources and the choice of clusters that they go to. The hub makes a BundleDeployment
// for each of them.
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What goes where.
	Spec BundleSpec `json:"spec"`
	// What has arrived.
	Status BundleStatus `json:"status"`
}

// BundleSpec is what is deployed, how, and to which clusters. The options that it embeds hold for all
// targets; a target may change them for its clusters.
type BundleSpec struct {
	BundleDeploymentOptions `json:",inline"`
	// Stops changes of the bundle from reaching clusters. They become OutOfSync instead.
	Paused bool `json:"paused,omitempty"`
	// How many clusters are changed at a time, and in which groups.
	// +nullable
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	// The files that are deployed: manifests, a chart, or what a chart is made with.
	// +nullable
	Resources []BundleResource `json:"resources,omitempty"`
	// Whether a cluster is customized by the first target that matches it or by all of them, in their order.
	// +kubebuilder:validation:Enum=FirstMatch;AllMatches
	// +kubebuilder:default=FirstMatch
	TargetCustomizationMode TargetCustomizationMode `json:"targetCustomizationMode,omitempty"`
	// The clusters that get the bundle. The order matters: see targetCustomizationMode.
	Targets []BundleTarget `json:"targets,omitempty"`
	// Limits the targets: a cluster that none of these matches never gets the bundle. Without any, there is no
	// limit. If there are some, as many targets at the end of the list choose clusters, and those before them
	// only customize.
	TargetRestrictions []BundleTargetRestriction `json:"targetRestrictions,omitempty"`
	// Bundles that must be in an accepted state on a cluster before this one is deployed there.
	// +nullable
	DependsOn []BundleRef `json:"dependsOn,omitempty"`
	// The identifier of the resources in an OCI registry, when they are stored there.
	// +nullable
	ContentsID string `json:"contentsId,omitempty"`
	// Access to the Helm repository. Its presence means that the agent fetches the chart itself, and resources
	// are not used.
	// +nullable
	HelmOpOptions *BundleHelmOptions `json:"helmOpOptions,omitempty"`
	// A digest of the Helm values, which are kept in a Secret.
	ValuesHash string `json:"valuesHash,omitempty"`
}

// BundleResource is one file of a bundle.
type BundleResource struct {
	// The path of the file.
	// +nullable
	Name string `json:"name,omitempty"`
	// The content, encoded as encoding says.
	// +nullable
	Content string `json:"content,omitempty"`
	// Either empty, for plain text, or base64+gz.
	// +nullable
	Encoding string `json:"encoding,omitempty"`
}

// BundleRef chooses bundles of the same namespace, by name or by labels.
type BundleRef struct {
	// The name of a bundle.
	// +nullable
	Name string `json:"name,omitempty"`
	// Selects bundles by their labels. It is used when no name is given.
	// +nullable
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// The states in which the bundle counts as done. Without any, only Ready does.
	// +nullable
	AcceptedStates []BundleState `json:"acceptedStates,omitempty"`
}

// BundleHelmOptions is how the agent reaches the Helm repository of a bundle whose chart it fetches itself.
type BundleHelmOptions struct {
	// The secret with the credentials of the Helm repository.
	SecretName string `json:"helmOpSecretName,omitempty"`
	// Accepts any certificate of the Helm repository.
	InsecureSkipTLSverify bool `json:"helmOpInsecureSkipTLSVerify,omitempty"`
	// Certificates, in PEM, that the Helm repository is trusted by.
	// +nullable
	CABundle []byte `json:"helmOpCABundle,omitempty"`
}

// BundleStatus is how far a bundle has come.
type BundleStatus struct {
	// Ready says, in its message, which clusters are not ready and why.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// How many clusters are in which state.
	Summary BundleSummary `json:"summary,omitempty"`
	// How many deployments were made in the current pass of the rollout.
	NewlyCreated int `json:"newlyCreated,omitempty"`
	// How many clusters are not ready.
	Unavailable int `json:"unavailable"`
	// How many partitions have more unavailable clusters than they may.
	UnavailablePartitions int `json:"unavailablePartitions"`
	// How many clusters may be unavailable.
	MaxUnavailable int `json:"maxUnavailable"`
	// How many partitions may be unavailable.
	MaxUnavailablePartitions int `json:"maxUnavailablePartitions"`
	// The partitions of the rollout, in their order.
	PartitionStatus []PartitionStatus `json:"partitions,omitempty"`
	// What lists and user interfaces show.
	Display BundleDisplay `json:"display,omitempty"`
	// The resources that the bundle's files define, where that is known.
	// +nullable
	ResourceKey []ResourceKey `json:"resourceKey,omitempty"`
	// The reference under which the resources are stored in an OCI registry.
	OCIReference string `json:"ociReference,omitempty"`
	// The generation of the spec that this status is about.
	ObservedGeneration int64 `json:"observedGeneration"`
	// A digest of the resources that the current deployments were made from.
	ResourcesSHA256Sum string `json:"resourcesSha256Sum,omitempty"`
}

// BundleDisplay is a bundle in words.
type BundleDisplay struct {
	// Ready clusters of all clusters, as "x/y".
	// +nullable
	ReadyClusters string `json:"readyClusters,omitempty"`
	// The worst state that the bundle has on a cluster.
	// +nullable
	State string `json:"state,omitempty"`
}

// ResourceKey names an object on a downstream cluster.
type ResourceKey struct {
	// The kind of the object.
	// +nullable
	Kind string `json:"kind,omitempty"`
	// The group and version of the object.
	// +nullable
	APIVersion string `json:"apiVersion,omitempty"`
	// The namespace of the object, empty for cluster-scoped objects.
	// +nullable
	Namespace string `json:"namespace,omitempty"`
	// The name of the object.
	// +nullable
	Name string `json:"name,omitempty"`
}
