package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterregistrations,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster-Name",type=string,JSONPath=`.status.clusterName`
// +kubebuilder:printcolumn:name="Labels",type=string,JSONPath=`.spec.clusterLabels`

// ClusterRegistration TODO.
type ClusterRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterRegistrationSpec   `json:"spec,omitempty"`
	Status ClusterRegistrationStatus `json:"status,omitempty"`
}

// ClusterRegistrationSpec TODO.
type ClusterRegistrationSpec struct {
	// +nullable
	ClientID string `json:"clientID,omitempty"`
	// +nullable
	ClientRandom string `json:"clientRandom,omitempty"`
	// +nullable
	ClusterLabels map[string]string     `json:"clusterLabels,omitempty"`
	Identity      *RegistrationIdentity `json:"identity,omitempty"`
	Agent         *RegistrationAgent    `json:"agent,omitempty"`
}

// RegistrationIdentity TODO.
type RegistrationIdentity struct {
	PublicKey  string `json:"publicKey,omitempty"`
	ClusterUID string `json:"clusterUID,omitempty"`
	Requester  string `json:"requester,omitempty"`
}

// RegistrationAgent TODO.
type RegistrationAgent struct {
	Version string        `json:"version,omitempty"`
	Options *AgentOptions `json:"options,omitempty"`
}

// AgentOptions TODO.
type AgentOptions struct {
	EnvVars     []corev1.EnvVar               `json:"envVars,omitempty"`
	Tolerations []corev1.Toleration           `json:"tolerations,omitempty"`
	Affinity    *corev1.Affinity              `json:"affinity,omitempty"`
	Resources   *corev1.ResourceRequirements  `json:"resources,omitempty"`
	HostNetwork *bool                         `json:"hostNetwork,omitempty"`
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ClusterRegistrationStatus TODO.
type ClusterRegistrationStatus struct {
	// +nullable
	ClusterName string                              `json:"clusterName,omitempty"`
	Granted     bool                                `json:"granted,omitempty"`
	Conditions  []genericcondition.GenericCondition `json:"conditions,omitempty"`
	Approval    *RegistrationApproval               `json:"approval,omitempty"`
	// +kubebuilder:validation:MaxItems=4
	Credentials []CredentialRecord `json:"credentials,omitempty"`
}

// RegistrationApproval TODO.
type RegistrationApproval struct {
	// +kubebuilder:validation:Enum=approve;replace;deny
	Decision string       `json:"decision,omitempty"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Time     *metav1.Time `json:"time,omitempty"`
}

// CredentialRecord TODO.
type CredentialRecord struct {
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9a-f]*$`
	Digest     string `json:"digest,omitempty"`
	AccountUID string `json:"accountUID,omitempty"`
	// +kubebuilder:validation:Enum=TokenRequest;Secret
	Type    string       `json:"type,omitempty"`
	Issued  *metav1.Time `json:"issued,omitempty"`
	Expires *metav1.Time `json:"expires,omitempty"`
	Used    bool         `json:"used,omitempty"`
}
