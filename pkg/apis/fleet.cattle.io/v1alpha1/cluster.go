package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Bundles-Ready",type=string,JSONPath=`.status.display.readyBundles`
// +kubebuilder:printcolumn:name="Last-Seen",type=string,JSONPath=`.status.agent.lastSeen`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// Cluster TODO.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec   `json:"spec,omitempty"`
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec TODO.
type ClusterSpec struct {
	Paused bool `json:"paused,omitempty"`
	// +nullable
	ClientID string `json:"clientID,omitempty"`
	// +nullable
	KubeConfigSecret string `json:"kubeConfigSecret,omitempty"`
	// +nullable
	KubeConfigSecretNamespace string `json:"kubeConfigSecretNamespace,omitempty"`
	RedeployAgentGeneration   int64  `json:"redeployAgentGeneration,omitempty"`
	// +nullable
	AgentEnvVars []corev1.EnvVar `json:"agentEnvVars,omitempty"`
	// +nullable
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// +nullable
	PrivateRepoURL string `json:"privateRepoURL,omitempty"`
	// +nullable
	TemplateValues *GenericMap `json:"templateValues,omitempty"`
	// +nullable
	AgentTolerations []corev1.Toleration `json:"agentTolerations,omitempty"`
	// +nullable
	AgentAffinity *corev1.Affinity `json:"agentAffinity,omitempty"`
	// +nullable
	AgentResources *corev1.ResourceRequirements `json:"agentResources,omitempty"`
	// +nullable
	HostNetwork *bool `json:"hostNetwork,omitempty"`
	// +nullable
	AgentSchedulingCustomization *AgentSchedulingCustomization `json:"agentSchedulingCustomization,omitempty"`
	// +nullable
	AgentPullSecrets *[]corev1.LocalObjectReference `json:"agentPullSecrets,omitempty"`
	Revoked          bool                           `json:"revoked,omitempty"`
	// +kubebuilder:validation:Enum="";keep;remove
	OnDelete string `json:"onDelete,omitempty"`
}

// AgentSchedulingCustomization TODO.
type AgentSchedulingCustomization struct {
	PriorityClass       *PriorityClassSpec       `json:"priorityClass,omitempty"`
	PodDisruptionBudget *PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`
}

// PriorityClassSpec TODO.
type PriorityClassSpec struct {
	Value            int                      `json:"value,omitempty"`
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
}

// PodDisruptionBudgetSpec TODO.
type PodDisruptionBudgetSpec struct {
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
}
