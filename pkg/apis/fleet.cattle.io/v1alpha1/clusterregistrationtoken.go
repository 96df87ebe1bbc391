package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterregistrationtokens,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Secret-Name",type=string,JSONPath=`.status.secretName`

// ClusterRegistrationToken lets agents register clusters in its namespace. The secret of the same name holds
// the values that the agent's chart needs for it.
type ClusterRegistrationToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How long and for whom the token is good.
	Spec ClusterRegistrationTokenSpec `json:"spec,omitempty"`
	// Where the token's secret is and when it ends.
	Status ClusterRegistrationTokenStatus `json:"status,omitempty"`
}

// ClusterRegistrationTokenSpec is how long and for whom a token is good.
type ClusterRegistrationTokenSpec struct {
	// How long after its creation the token ends. It does not end if this is empty or 0.
	// +kubebuilder:validation:Type=string
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// How many requests are granted with the token. If this is empty, registration.maxUses of
	// the hub's configuration is the limit, if that is set. A request counts when the hub
	// decides to grant it, before its Cluster is made, and stays counted when it is gone.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxUses *int32 `json:"maxUses,omitempty"`
	// The only Cluster that can be registered with the token.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a name that a Cluster can have: lower case letters, digits, '-' and '.'"
	ClusterName string `json:"clusterName,omitempty"`
	// The only client IDs that can be registered with the token. There is no limit without any.
	ClientIDs []string `json:"clientIDs,omitempty"`
	// Keys of labels that requests may give to a new Cluster. If this is absent, all keys are allowed but those
	// that are reserved; if it is empty, none is.
	AllowedLabels *[]string `json:"allowedLabels,omitempty"`
	// Requests wait until a person approves them, with `fleet registration approve`.
	RequireApproval bool `json:"requireApproval,omitempty"`
}

// ClusterRegistrationTokenStatus is what has become of a token.
type ClusterRegistrationTokenStatus struct {
	// When the token ends. Empty if it does not.
	Expires *metav1.Time `json:"expires,omitempty"`
	// The secret with the values for the agent's chart, once it can be used.
	// +nullable
	SecretName string `json:"secretName,omitempty"`
	// How many requests were granted with the token. Counted only for a token with a limit.
	Uses int32 `json:"uses,omitempty"`
	// The UIDs of these requests.
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=64
	UsedBy []string `json:"usedBy,omitempty"`
	// Ready, ProvenanceEnforced and RequestsAccepted.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
}
