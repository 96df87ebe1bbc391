package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=gitrepos,scope=Namespaced,categories=fleet
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Repo",type=string,JSONPath=`.spec.repo`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.commit`
// +kubebuilder:printcolumn:name="BundleDeployments-Ready",type=string,JSONPath=`.status.display.readyBundleDeployments`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// GitRepo TODO.
type GitRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GitRepoSpec   `json:"spec,omitempty"`
	Status GitRepoStatus `json:"status,omitempty"`
}

// GitRepoSpec TODO.
type GitRepoSpec struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Repo string `json:"repo,omitempty"`
	// +nullable
	Branch string `json:"branch,omitempty"`
	// +nullable
	Revision string `json:"revision,omitempty"`
	// +nullable
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// +nullable
	ClientSecretName string `json:"clientSecretName,omitempty"`
	// +nullable
	HelmSecretName string `json:"helmSecretName,omitempty"`
	// +nullable
	HelmSecretNameForPaths string `json:"helmSecretNameForPaths,omitempty"`
	// +nullable
	HelmRepoURLRegex string `json:"helmRepoURLRegex,omitempty"`
	// +nullable
	CABundle              []byte `json:"caBundle,omitempty"`
	InsecureSkipTLSverify bool   `json:"insecureSkipTLSVerify,omitempty"`
	// +nullable
	Paths  []string `json:"paths,omitempty"`
	Paused bool     `json:"paused,omitempty"`
	// +nullable
	ServiceAccount string      `json:"serviceAccount,omitempty"`
	Targets        []GitTarget `json:"targets,omitempty"`
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	PollingInterval     *metav1.Duration `json:"pollingInterval,omitempty"`
	ForceSyncGeneration int64            `json:"forceSyncGeneration,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	ImageSyncInterval *metav1.Duration `json:"imageScanInterval,omitempty"`
	ImageScanCommit   *CommitSpec      `json:"imageScanCommit,omitempty"`
	KeepResources     bool             `json:"keepResources,omitempty"`
	DeleteNamespace   bool             `json:"deleteNamespace,omitempty"`
	CorrectDrift      *CorrectDrift    `json:"correctDrift,omitempty"`
	DisablePolling    bool             `json:"disablePolling,omitempty"`
	OCIRegistrySecret string           `json:"ociRegistrySecret,omitempty"`
	WebhookSecret     string           `json:"webhookSecret,omitempty"`
	Bundles           []BundlePath     `json:"bundles,omitempty"`
}

// BundlePath TODO.
type BundlePath struct {
	Base string `json:"base,omitempty"`
	// +nullable
	Options string `json:"options,omitempty"`
}

// GitTarget TODO.
type GitTarget struct {
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

// CommitSpec TODO.
type CommitSpec struct {
	AuthorName      string `json:"authorName"`
	AuthorEmail     string `json:"authorEmail"`
	MessageTemplate string `json:"messageTemplate,omitempty"`
}

// GitRepoStatus TODO.
type GitRepoStatus struct {
	StatusBase              `json:",inline"`
	ObservedGeneration      int64       `json:"observedGeneration"`
	UpdateGeneration        int64       `json:"updateGeneration,omitempty"`
	Commit                  string      `json:"commit,omitempty"`
	WebhookCommit           string      `json:"webhookCommit,omitempty"`
	LastWebhookTime         metav1.Time `json:"lastWebhookTime,omitempty"`
	PollingCommit           string      `json:"pollingCommit,omitempty"`
	GitJobStatus            string      `json:"gitJobStatus,omitempty"`
	LastSyncedImageScanTime metav1.Time `json:"lastSyncedImageScanTime,omitempty"`
	LastPollingTime         metav1.Time `json:"lastPollingTriggered,omitempty"`
}
