package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=policies,scope=Namespaced

// Policy limits what bundles, GitRepos and HelmOps of its namespace may ask for, and says what they get if
// they ask for nothing. If there are several, what any of them allows is allowed.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Bundles must name a service account.
	RequireServiceAccount bool `json:"requireServiceAccount,omitempty"`
	// The service accounts that may be named. There is no limit without any.
	// +nullable
	AllowedServiceAccounts []string `json:"allowedServiceAccounts,omitempty"`
	// Bundles may create the namespace of their release although they must name a service account.
	AllowNamespaceCreation bool `json:"allowNamespaceCreation,omitempty"`
	// Limits and defaults for GitRepos.
	GitRepo *GitRepoPolicySpec `json:"gitRepo,omitempty"`
	// Limits and defaults for HelmOps.
	HelmOp *HelmOpPolicySpec `json:"helmOp,omitempty"`
}

// GitRepoPolicySpec is limits and defaults for GitRepos.
type GitRepoPolicySpec struct {
	// The service account of GitRepos that name none.
	DefaultServiceAccount string `json:"defaultServiceAccount,omitempty"`
	// The secret with credentials of GitRepos that name none.
	DefaultClientSecretName string `json:"defaultClientSecretName,omitempty"`
	// The secrets with credentials that may be named.
	// +nullable
	AllowedClientSecretNames []string `json:"allowedClientSecretNames,omitempty"`
	// Regular expressions for the URLs that may be used.
	// +nullable
	AllowedRepoPatterns []string `json:"allowedRepoPatterns,omitempty"`
}

// HelmOpPolicySpec is limits and defaults for HelmOps.
type HelmOpPolicySpec struct {
	// The service account of HelmOps that name none.
	DefaultServiceAccount string `json:"defaultServiceAccount,omitempty"`
	// The secret with credentials of HelmOps that name none.
	DefaultHelmSecretName string `json:"defaultHelmSecretName,omitempty"`
	// The secrets with credentials that may be named.
	// +nullable
	AllowedHelmSecretNames []string `json:"allowedHelmSecretNames,omitempty"`
	// Regular expressions for the repositories that may be used.
	// +nullable
	AllowedHelmRepoPatterns []string `json:"allowedHelmRepoPatterns,omitempty"`
	// Regular expressions for the charts that may be used.
	// +nullable
	AllowedChartPatterns []string `json:"allowedChartPatterns,omitempty"`
}
