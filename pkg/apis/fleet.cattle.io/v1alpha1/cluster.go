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

// Cluster is a Kubernetes cluster that is managed, or is to be.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How the cluster is reached and how its agent runs.
	Spec ClusterSpec `json:"spec,omitempty"`
	// How the cluster is.
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is how a cluster is reached and how its agent runs.
type ClusterSpec struct {
	// Stops changes of bundles from reaching the cluster.
	Paused bool `json:"paused,omitempty"`
	// Identifies the cluster when its agent registers. One is made if none is given.
	// +nullable
	ClientID string `json:"clientID,omitempty"`
	// The secret with a kubeconfig of the cluster, which the hub installs the agent with. Empty if the agent is
	// installed there by other means and registers by itself.
	// +nullable
	KubeConfigSecret string `json:"kubeConfigSecret,omitempty"`
	// The namespace of that secret. It is the Cluster's own if empty.
	// +nullable
	KubeConfigSecretNamespace string `json:"kubeConfigSecretNamespace,omitempty"`
	// Deploys the agent again whenever it changes.
	RedeployAgentGeneration int64 `json:"redeployAgentGeneration,omitempty"`
	// Environment variables that are added to those of the agent. Their order is kept.
	// +nullable
	AgentEnvVars []corev1.EnvVar `json:"agentEnvVars,omitempty"`
	// The namespace of the agent on the cluster.
	// +nullable
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// A registry that is put before the names of images.
	// +nullable
	PrivateRepoURL string `json:"privateRepoURL,omitempty"`
	// Values for templates in Helm values, as .ClusterValues.
	// +nullable
	TemplateValues *GenericMap `json:"templateValues,omitempty"`
	// Tolerations that are added to those of the agent.
	// +nullable
	AgentTolerations []corev1.Toleration `json:"agentTolerations,omitempty"`
	// Replaces the affinity of the agent.
	// +nullable
	AgentAffinity *corev1.Affinity `json:"agentAffinity,omitempty"`
	// Resources that the agent requests and may use.
	// +nullable
	AgentResources *corev1.ResourceRequirements `json:"agentResources,omitempty"`
	// Runs the agent in the network of its node.
	// +nullable
	HostNetwork *bool `json:"hostNetwork,omitempty"`
	// A priority class and a disruption budget for the agent.
	// +nullable
	AgentSchedulingCustomization *AgentSchedulingCustomization `json:"agentSchedulingCustomization,omitempty"`
	// Secrets for pulling the agent's image. An empty list means none; without a list the hub's own are used.
	// +nullable
	AgentPullSecrets *[]corev1.LocalObjectReference `json:"agentPullSecrets,omitempty"`
	// Takes the cluster's access to the hub away and keeps it away, until this is false again. Its agent can
	// neither connect nor register anew.
	Revoked bool `json:"revoked,omitempty"`
	// What happens to the bundles on the cluster when this object is deleted: keep leaves them there, remove
	// uninstalls them first, for as long as the hub is configured to wait for that. Empty means what the hub is
	// configured to do.
	// +kubebuilder:validation:Enum="";keep;remove
	OnDelete string `json:"onDelete,omitempty"`
}

// AgentSchedulingCustomization is what makes it harder to evict the agent.
type AgentSchedulingCustomization struct {
	// A priority class that is made for the agent.
	PriorityClass *PriorityClassSpec `json:"priorityClass,omitempty"`
	// A disruption budget that is made for the agent.
	PodDisruptionBudget *PodDisruptionBudgetSpec `json:"podDisruptionBudget,omitempty"`
}

// PriorityClassSpec is the priority class of an agent.
type PriorityClassSpec struct {
	// The priority.
	Value int `json:"value,omitempty"`
	// Whether other pods are evicted for the agent.
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
}

// PodDisruptionBudgetSpec is the disruption budget of an agent. Only one of the two fields may be set.
type PodDisruptionBudgetSpec struct {
	// How many pods must stay: a number, or a percentage.
	MinAvailable string `json:"minAvailable,omitempty"`
	// How many pods may be evicted: a number, or a percentage.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
}
