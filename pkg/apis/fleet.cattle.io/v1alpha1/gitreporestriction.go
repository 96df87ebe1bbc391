package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=gitreporestrictions,scope=Namespaced
// +kubebuilder:printcolumn:name="Default-ServiceAccount",type=string,JSONPath=`.defaultServiceAccount`
// +kubebuilder:printcolumn:name="Allowed-ServiceAccounts",type=string,JSONPath=`.allowedServiceAccounts`

// GitRepoRestriction limits what GitRepos of its namespace may ask for, and says what they get if they ask
// for nothing.
type GitRepoRestriction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The service account of GitRepos that name none.
	// +nullable
	DefaultServiceAccount string `json:"defaultServiceAccount,omitempty"`
	// The service accounts that may be named.
	// +nullable
	AllowedServiceAccounts []string `json:"allowedServiceAccounts,omitempty"`
	// Regular expressions for the URLs that may be used.
	// +nullable
	AllowedRepoPatterns []string `json:"allowedRepoPatterns,omitempty"`
	// The secret with credentials of GitRepos that name none.
	// +nullable
	DefaultClientSecretName string `json:"defaultClientSecretName,omitempty"`
	// The secrets with credentials that may be named.
	// +nullable
	AllowedClientSecretNames []string `json:"allowedClientSecretNames,omitempty"`
	// The namespaces that may be deployed to. GitRepos must then name one.
	// +nullable
	AllowedTargetNamespaces []string `json:"allowedTargetNamespaces,omitempty"`
	// Selects, by their labels, namespaces on the clusters that may be deployed to.
	// +nullable
	AllowedTargetNamespaceSelector *metav1.LabelSelector `json:"allowedTargetNamespaceSelector,omitempty"`
}
