package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=policies,scope=Namespaced

// Policy TODO.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	RequireServiceAccount bool `json:"requireServiceAccount,omitempty"`
	// +nullable
	AllowedServiceAccounts []string           `json:"allowedServiceAccounts,omitempty"`
	AllowNamespaceCreation bool               `json:"allowNamespaceCreation,omitempty"`
	GitRepo                *GitRepoPolicySpec `json:"gitRepo,omitempty"`
	HelmOp                 *HelmOpPolicySpec  `json:"helmOp,omitempty"`
}

// GitRepoPolicySpec TODO.
type GitRepoPolicySpec struct {
	DefaultServiceAccount   string `json:"defaultServiceAccount,omitempty"`
	DefaultClientSecretName string `json:"defaultClientSecretName,omitempty"`
	// +nullable
	AllowedClientSecretNames []string `json:"allowedClientSecretNames,omitempty"`
	// +nullable
	AllowedRepoPatterns []string `json:"allowedRepoPatterns,omitempty"`
}

// HelmOpPolicySpec TODO.
type HelmOpPolicySpec struct {
	DefaultServiceAccount string `json:"defaultServiceAccount,omitempty"`
	DefaultHelmSecretName string `json:"defaultHelmSecretName,omitempty"`
	// +nullable
	AllowedHelmSecretNames []string `json:"allowedHelmSecretNames,omitempty"`
	// +nullable
	AllowedHelmRepoPatterns []string `json:"allowedHelmRepoPatterns,omitempty"`
	// +nullable
	AllowedChartPatterns []string `json:"allowedChartPatterns,omitempty"`
}
