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

// ClusterRegistration is an agent's request to register its cluster. The agent makes it with the account of a
// ClusterRegistrationToken; the hub answers with an account of the cluster's own.
type ClusterRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the agent says. Nothing in it is to be believed unless it is proved.
	Spec ClusterRegistrationSpec `json:"spec,omitempty"`
	// What the hub has made of it.
	Status ClusterRegistrationStatus `json:"status,omitempty"`
}

// ClusterRegistrationSpec is who asks. The schema's bounds are wider than the hub's own, four times for texts and labels:
// what is beyond them is never stored, and who is a little beyond the hub's reads in a condition what is wrong.
type ClusterRegistrationSpec struct {
	// Identifies the cluster: requests with the same client ID are about the same Cluster.
	// +nullable
	// +kubebuilder:validation:MaxLength=1024
	ClientID string `json:"clientID,omitempty"`
	// Chosen by the agent, and part of the name of the secret with its credential.
	// +nullable
	// +kubebuilder:validation:MaxLength=512
	ClientRandom string `json:"clientRandom,omitempty"`
	// Labels for the Cluster, if the request leads to a new one.
	// +nullable
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 1268 && size(self[key]) <= 252)",message="a key may have 1268 characters and a value 252"
	ClusterLabels map[string]string `json:"clusterLabels,omitempty"`
	// What the cluster is bound to, if the request is granted.
	Identity *RegistrationIdentity `json:"identity,omitempty"`
	// The agent that asks, and the options that it was installed with.
	Agent *RegistrationAgent `json:"agent,omitempty"`
}

// RegistrationIdentity is what a cluster is bound to when it registers.
type RegistrationIdentity struct {
	// The agent's public key. The credential is sealed to it, so that only this agent can read it.
	// +kubebuilder:validation:MaxLength=256
	PublicKey string `json:"publicKey,omitempty"`
	// The UID of the namespace kube-system of the agent's cluster.
	// +kubebuilder:validation:MaxLength=1024
	ClusterUID string `json:"clusterUID,omitempty"`
	// The user name that the agent makes the request with.
	// +kubebuilder:validation:MaxLength=2048
	Requester string `json:"requester,omitempty"`
}

// RegistrationAgent is an agent that asks to be registered.
type RegistrationAgent struct {
	// The version of the agent.
	// +kubebuilder:validation:MaxLength=512
	Version string `json:"version,omitempty"`
	// The options that the agent was installed with. A new Cluster takes them over, so that it keeps running as
	// it does.
	Options *AgentOptions `json:"options,omitempty"`
}

// AgentOptions are the options that an agent was installed with. They become the fields of the same meaning
// in the spec of a new Cluster.
type AgentOptions struct {
	// Environment variables beyond those that every agent has.
	// +kubebuilder:validation:MaxItems=2048
	EnvVars []corev1.EnvVar `json:"envVars,omitempty"`
	// Tolerations beyond those that every agent has.
	// +kubebuilder:validation:MaxItems=16384
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// The agent's affinity, if it is not the usual one.
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Resources that the agent requests and may use.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Whether the agent runs in the network of its node.
	HostNetwork *bool `json:"hostNetwork,omitempty"`
	// Secrets for pulling the agent's image.
	// +kubebuilder:validation:MaxItems=16384
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// ClusterRegistrationStatus is what the hub has made of a request.
type ClusterRegistrationStatus struct {
	// The Cluster that the request is about.
	// +nullable
	ClusterName string `json:"clusterName,omitempty"`
	// The request was granted.
	Granted bool `json:"granted,omitempty"`
	// Granted, CredentialReady and CredentialUsed. Their messages say what is awaited.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// What a person has decided about a request that is not granted by itself.
	Approval *RegistrationApproval `json:"approval,omitempty"`
	// The credentials that were made for the agent and may still be in use, the newest last.
	// +kubebuilder:validation:MaxItems=4
	Credentials []CredentialRecord `json:"credentials,omitempty"`
}

// RegistrationApproval is what a person has decided about a request.
type RegistrationApproval struct {
	// Approve grants the request. Replace grants it and binds the cluster to the new identity, which ends the
	// access of the old one. Deny refuses it.
	// +kubebuilder:validation:Enum=approve;replace;deny
	Decision string `json:"decision,omitempty"`
	// Who decided.
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`
	// Why, in that person's words.
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
	// When.
	Time *metav1.Time `json:"time,omitempty"`
}

// CredentialRecord is a credential that was made for an agent, without the credential.
type CredentialRecord struct {
	// The first 16 hexadecimal digits of the token's SHA-256. The agent's heartbeat shows the same of the token
	// that it uses.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9a-f]*$`
	Digest string `json:"digest,omitempty"`
	// The UID of the service account that the token belongs to.
	AccountUID string `json:"accountUID,omitempty"`
	// TokenRequest for a token that ends and is renewed, Secret for one that does not end.
	// +kubebuilder:validation:Enum=TokenRequest;Secret
	Type string `json:"type,omitempty"`
	// When the token was made.
	Issued *metav1.Time `json:"issued,omitempty"`
	// When the token ends. Empty if it does not.
	Expires *metav1.Time `json:"expires,omitempty"`
	// The agent has been seen to use the token.
	Used bool `json:"used,omitempty"`
}
