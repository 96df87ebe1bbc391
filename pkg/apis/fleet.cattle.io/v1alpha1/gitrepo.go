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

// GitRepo is a Git repository that bundles are made from.
type GitRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which repository, which part of it, and for which clusters.
	Spec GitRepoSpec `json:"spec,omitempty"`
	// What has come of it.
	Status GitRepoStatus `json:"status,omitempty"`
}

// GitRepoSpec is which repository, which part of it, and for which clusters.
type GitRepoSpec struct {
	// The URL of the repository.
	// +required
	// +kubebuilder:validation:MinLength=1
	Repo string `json:"repo,omitempty"`
	// The branch that is followed.
	// +nullable
	Branch string `json:"branch,omitempty"`
	// A commit or a tag, instead of a branch.
	// +nullable
	Revision string `json:"revision,omitempty"`
	// The namespace of all resources. Cluster-scoped resources are then refused.
	// +nullable
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// The secret with the credentials of the repository.
	// +nullable
	ClientSecretName string `json:"clientSecretName,omitempty"`
	// The secret with the credentials of Helm repositories that bundles refer to.
	// +nullable
	HelmSecretName string `json:"helmSecretName,omitempty"`
	// The secret with credentials of Helm repositories for each path.
	// +nullable
	HelmSecretNameForPaths string `json:"helmSecretNameForPaths,omitempty"`
	// The Helm repositories that get those credentials, as a regular expression for their URLs. Without it, none
	// does.
	// +nullable
	HelmRepoURLRegex string `json:"helmRepoURLRegex,omitempty"`
	// Certificates, in PEM, that the repository is trusted by.
	// +nullable
	CABundle []byte `json:"caBundle,omitempty"`
	// Accepts any certificate of the repository.
	InsecureSkipTLSverify bool `json:"insecureSkipTLSVerify,omitempty"`
	// The directories that bundles are made from. Without any, it is the root of the repository.
	// +nullable
	Paths []string `json:"paths,omitempty"`
	// Stops changes of the repository from reaching bundles.
	Paused bool `json:"paused,omitempty"`
	// The service account on whose behalf the bundles are deployed.
	// +nullable
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// The clusters that get the bundles.
	Targets []GitTarget `json:"targets,omitempty"`
	// How often the repository is asked for changes.
	// +kubebuilder:validation:Type=string
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	PollingInterval *metav1.Duration `json:"pollingInterval,omitempty"`
	// Reads the repository again whenever it changes.
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
	// How often results of image scans are committed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	ImageSyncInterval *metav1.Duration `json:"imageScanInterval,omitempty"`
	// How results of image scans are committed.
	ImageScanCommit *CommitSpec `json:"imageScanCommit,omitempty"`
	// Leaves the resources on the clusters when the repository is removed.
	KeepResources bool `json:"keepResources,omitempty"`
	// Removes the namespaces of the releases when the repository is removed.
	DeleteNamespace bool `json:"deleteNamespace,omitempty"`
	// What is done about changes that others make to the resources.
	CorrectDrift *CorrectDrift `json:"correctDrift,omitempty"`
	// Does not ask the repository for changes. Only webhooks announce them then.
	DisablePolling bool `json:"disablePolling,omitempty"`
	// The secret with the address and credentials of an OCI registry that stores the bundles.
	OCIRegistrySecret string `json:"ociRegistrySecret,omitempty"`
	// The secret that webhooks for this repository are verified with.
	WebhookSecret string `json:"webhookSecret,omitempty"`
	// Bundles that are made from a directory and a file of options, instead of paths.
	Bundles []BundlePath `json:"bundles,omitempty"`
}

// BundlePath is a directory that a bundle is made from.
type BundlePath struct {
	// The directory.
	Base string `json:"base,omitempty"`
	// The file of options, relative to the directory. It is fleet.yaml if empty.
	// +nullable
	Options string `json:"options,omitempty"`
}

// GitTarget chooses clusters. If several criteria are given, a cluster must match all of them; without any,
// none matches.
type GitTarget struct {
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

// CommitSpec is how results of image scans are committed.
type CommitSpec struct {
	// The name of the author.
	AuthorName string `json:"authorName"`
	// The e-mail address of the author.
	AuthorEmail string `json:"authorEmail"`
	// The message, as a template.
	MessageTemplate string `json:"messageTemplate,omitempty"`
}

// GitRepoStatus is what has come of a repository.
type GitRepoStatus struct {
	StatusBase `json:",inline"`
	// The generation of the spec that this status is about.
	ObservedGeneration int64 `json:"observedGeneration"`
	// The forceSyncGeneration that was read last.
	UpdateGeneration int64 `json:"updateGeneration,omitempty"`
	// The commit that the bundles were made from.
	Commit string `json:"commit,omitempty"`
	// The commit that a webhook announced last.
	WebhookCommit string `json:"webhookCommit,omitempty"`
	// When a webhook announced it.
	LastWebhookTime metav1.Time `json:"lastWebhookTime,omitempty"`
	// The commit that was found last by asking the repository.
	PollingCommit string `json:"pollingCommit,omitempty"`
	// The state of the job that makes the bundles.
	GitJobStatus string `json:"gitJobStatus,omitempty"`
	// When results of image scans were committed last.
	LastSyncedImageScanTime metav1.Time `json:"lastSyncedImageScanTime,omitempty"`
	// When the repository was asked for changes last.
	LastPollingTime metav1.Time `json:"lastPollingTriggered,omitempty"`
}
