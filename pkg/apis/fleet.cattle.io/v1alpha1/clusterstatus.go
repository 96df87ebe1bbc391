package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus TODO.
type ClusterStatus struct {
	Conditions           []genericcondition.GenericCondition `json:"conditions,omitempty"`
	Namespace            string                              `json:"namespace,omitempty"`
	Summary              BundleSummary                       `json:"summary,omitempty"`
	ResourceCounts       ResourceCounts                      `json:"resourceCounts,omitempty"`
	ReadyGitRepos        int                                 `json:"readyGitRepos"`
	DesiredReadyGitRepos int                                 `json:"desiredReadyGitRepos"`
	ReadyHelmOps         int                                 `json:"readyHelmOps"`
	DesiredReadyHelmOps  int                                 `json:"desiredReadyHelmOps"`
	// +nullable
	AgentEnvVarsHash string `json:"agentEnvVarsHash,omitempty"`
	// +nullable
	AgentPrivateRepoURL string `json:"agentPrivateRepoURL,omitempty"`
	// +nullable
	AgentHostNetwork bool `json:"agentHostNetwork,omitempty"`
	// +nullable
	AgentDeployedGeneration *int64 `json:"agentDeployedGeneration,omitempty"`
	AgentMigrated           bool   `json:"agentMigrated,omitempty"`
	AgentNamespaceMigrated  bool   `json:"agentNamespaceMigrated,omitempty"`
	CattleNamespaceMigrated bool   `json:"cattleNamespaceMigrated,omitempty"`
	AgentAffinityHash       string `json:"agentAffinityHash,omitempty"`
	// +nullable
	AgentResourcesHash string `json:"agentResourcesHash,omitempty"`
	// +nullable
	AgentTolerationsHash string `json:"agentTolerationsHash,omitempty"`
	AgentConfigChanged   bool   `json:"agentConfigChanged,omitempty"`
	// +nullable
	APIServerURL string `json:"apiServerURL,omitempty"`
	// +nullable
	APIServerCAHash string `json:"apiServerCAHash,omitempty"`
	// +nullable
	AgentTLSMode                     string            `json:"agentTLSMode,omitempty"`
	Display                          ClusterDisplay    `json:"display,omitempty"`
	Agent                            AgentStatus       `json:"agent,omitempty"`
	GarbageCollectionInterval        *metav1.Duration  `json:"garbageCollectionInterval,omitempty"`
	AgentSchedulingCustomizationHash string            `json:"agentSchedulingCustomizationHash,omitempty"`
	Scheduled                        bool              `json:"scheduled,omitempty"`
	ActiveSchedule                   bool              `json:"activeSchedule,omitempty"`
	Identity                         *ClusterIdentity  `json:"identity,omitempty"`
	Credential                       *CredentialStatus `json:"credential,omitempty"`
}

// ClusterDisplay TODO.
type ClusterDisplay struct {
	ReadyBundles string `json:"readyBundles,omitempty"`
	// +nullable
	State string `json:"state,omitempty"`
}

// AgentStatus TODO.
type AgentStatus struct {
	// +nullable
	LastSeen metav1.Time `json:"lastSeen"`
	// +nullable
	Namespace  string              `json:"namespace"`
	Version    string              `json:"version,omitempty"`
	Generation string              `json:"generation,omitempty"`
	Upgrade    *AgentUpgradeStatus `json:"upgrade,omitempty"`
}

// AgentUpgradeStatus TODO.
type AgentUpgradeStatus struct {
	Reason string `json:"reason,omitempty"`
	// +kubebuilder:validation:MaxLength=256
	Message string       `json:"message,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
}

// ClusterIdentity TODO.
type ClusterIdentity struct {
	KeyFingerprint string       `json:"keyFingerprint,omitempty"`
	ClusterUID     string       `json:"clusterUID,omitempty"`
	BoundTime      *metav1.Time `json:"boundTime,omitempty"`
}

// CredentialStatus TODO.
type CredentialStatus struct {
	Type                string       `json:"type,omitempty"`
	Expires             *metav1.Time `json:"expires,omitempty"`
	HubCAExpires        *metav1.Time `json:"hubCAExpires,omitempty"`
	KubeconfigExpires   *metav1.Time `json:"kubeconfigExpires,omitempty"`
	KubeconfigCAExpires *metav1.Time `json:"kubeconfigCAExpires,omitempty"`
}
