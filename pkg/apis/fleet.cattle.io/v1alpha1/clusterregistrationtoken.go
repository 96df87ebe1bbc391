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

// ClusterRegistrationToken TODO.
type ClusterRegistrationToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterRegistrationTokenSpec   `json:"spec,omitempty"`
	Status ClusterRegistrationTokenStatus `json:"status,omitempty"`
}

// ClusterRegistrationTokenSpec TODO.
type ClusterRegistrationTokenSpec struct {
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '0' || (self.matches('^(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) <= duration('2562047h'))",message="must be \"0\" or a sequence of numbers with units (ns, us, µs, ms, s, m, h), at most 2562047h"
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// +kubebuilder:validation:Minimum=1
	MaxUses         *int32    `json:"maxUses,omitempty"`
	ClusterName     string    `json:"clusterName,omitempty"`
	ClientIDs       []string  `json:"clientIDs,omitempty"`
	AllowedLabels   *[]string `json:"allowedLabels,omitempty"`
	RequireApproval bool      `json:"requireApproval,omitempty"`
}

// ClusterRegistrationTokenStatus TODO.
type ClusterRegistrationTokenStatus struct {
	Expires *metav1.Time `json:"expires,omitempty"`
	// +nullable
	SecretName string                              `json:"secretName,omitempty"`
	Uses       int32                               `json:"uses,omitempty"`
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
}
