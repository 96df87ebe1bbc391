package v1alpha1

import (
	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus is how a cluster is. The agent writes the field agent, the hub the rest.
type ClusterStatus struct {
	// Registered, AgentConnected, CredentialValid, Revoked, Unique, AgentUpgraded, Imported, Reconciled, Processed and
	// Ready.
	Conditions []genericcondition.GenericCondition `json:"conditions,omitempty"`
	// The namespace on the hub that belongs to the cluster. Its bundle deployments lie there.
	Namespace string `json:"namespace,omitempty"`
	// How many bundles are in which state.
	Summary BundleSummary `json:"summary,omitempty"`
	// How many resources are in which state.
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
	// How many GitRepos are ready on the cluster.
	ReadyGitRepos int `json:"readyGitRepos"`
	// How many GitRepos the cluster has.
	DesiredReadyGitRepos int `json:"desiredReadyGitRepos"`
	// How many HelmOps are ready on the cluster.
	ReadyHelmOps int `json:"readyHelmOps"`
	// How many HelmOps the cluster has.
	DesiredReadyHelmOps int `json:"desiredReadyHelmOps"`
	// Unused. It stays for programs that read it.
	// +nullable
	AgentEnvVarsHash string `json:"agentEnvVarsHash,omitempty"`
	// Unused. It stays for programs that read it.
	// +nullable
	AgentPrivateRepoURL string `json:"agentPrivateRepoURL,omitempty"`
	// Unused. It stays for programs that read it.
	// +nullable
	AgentHostNetwork bool `json:"agentHostNetwork,omitempty"`
	// The redeployAgentGeneration that the agent was deployed with last.
	// +nullable
	AgentDeployedGeneration *int64 `json:"agentDeployedGeneration,omitempty"`
	// Unused. It stays for programs that read it.
	AgentMigrated bool `json:"agentMigrated,omitempty"`
	// Unused. It stays for programs that read it.
	AgentNamespaceMigrated bool `json:"agentNamespaceMigrated,omitempty"`
	// Unused. It stays for programs that read it.
	CattleNamespaceMigrated bool `json:"cattleNamespaceMigrated,omitempty"`
	// Unused. It stays for programs that read it.
	AgentAffinityHash string `json:"agentAffinityHash,omitempty"`
	// Unused. It stays for programs that read it.
	// +nullable
	AgentResourcesHash string `json:"agentResourcesHash,omitempty"`
	// Unused. It stays for programs that read it.
	// +nullable
	AgentTolerationsHash string `json:"agentTolerationsHash,omitempty"`
	// Set by a program to have the agent deployed anew; the hub clears it then.
	AgentConfigChanged bool `json:"agentConfigChanged,omitempty"`
	// The URL of the hub that the agent was deployed with last.
	// +nullable
	APIServerURL string `json:"apiServerURL,omitempty"`
	// A digest of the hub's CA that the agent was deployed with last.
	// +nullable
	APIServerCAHash string `json:"apiServerCAHash,omitempty"`
	// How the agent that was deployed last decides what it trusts: strict or system-store.
	// +nullable
	AgentTLSMode string `json:"agentTLSMode,omitempty"`
	// What lists and user interfaces show.
	Display ClusterDisplay `json:"display,omitempty"`
	// What the agent says about itself.
	Agent AgentStatus `json:"agent,omitempty"`
	// How often the agent that was deployed last looks for releases that belong to no bundle.
	GarbageCollectionInterval *metav1.Duration `json:"garbageCollectionInterval,omitempty"`
	// Unused. It stays for programs that read it.
	AgentSchedulingCustomizationHash string `json:"agentSchedulingCustomizationHash,omitempty"`
	// A Schedule applies to the cluster.
	Scheduled bool `json:"scheduled,omitempty"`
	// That Schedule allows changes at the moment.
	ActiveSchedule bool `json:"activeSchedule,omitempty"`
	// The identity that the cluster is bound to. Another one is refused.
	Identity *ClusterIdentity `json:"identity,omitempty"`
	// The credential of the agent, and what else ends some day.
	Credential *CredentialStatus `json:"credential,omitempty"`
}

// ClusterDisplay is a cluster in words.
type ClusterDisplay struct {
	// Ready bundles of all bundles, as "x/y".
	ReadyBundles string `json:"readyBundles,omitempty"`
	// The worst state of a bundle, or WaitCheckIn before the agent has shown up.
	// +nullable
	State string `json:"state,omitempty"`
}

// AgentStatus is what an agent says about itself. It is written by the downstream cluster and may be wrong.
type AgentStatus struct {
	// When the agent wrote this.
	// +nullable
	LastSeen metav1.Time `json:"lastSeen"`
	// The namespace of the agent on its cluster.
	// +nullable
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`
	// The version of the agent.
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// The digest of the options that the agent's pod was made with. It is the value of GENERATION there.
	// +kubebuilder:validation:MaxLength=64
	Generation string `json:"generation,omitempty"`
	// Why a new pod of the agent has not taken over. Empty while all is well.
	Upgrade *AgentUpgradeStatus `json:"upgrade,omitempty"`
	// The bundles that the agent has to do with. Absent while it does not know them.
	Bundles *AgentBundles `json:"bundles,omitempty"`
}

// AgentBundles are the bundles that an agent has to do with, its own apart.
type AgentBundles struct {
	// How many there are: those that the hub has for the cluster, and those that are still to be removed.
	Count int `json:"count"`
	// Those that are still to be removed, at most 10 of them.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=64
	Removing []string `json:"removing,omitempty"`
}

// AgentUpgradeStatus is why a new pod of the agent has not taken over from the one that reports it.
type AgentUpgradeStatus struct {
	// The reason, in one word.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// The reason, in a sentence.
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// Since when it is so.
	Since *metav1.Time `json:"since,omitempty"`
}

// ClusterIdentity is who a cluster is.
type ClusterIdentity struct {
	// The fingerprint of the agent's public key.
	KeyFingerprint string `json:"keyFingerprint,omitempty"`
	// The UID of the cluster's namespace kube-system. A cluster whose agent registered by itself only claims it.
	ClusterUID string `json:"clusterUID,omitempty"`
	// When the cluster was bound to this identity.
	BoundTime *metav1.Time `json:"boundTime,omitempty"`
}

// CredentialStatus is the credential of an agent, and what else between hub and cluster ends some day.
type CredentialStatus struct {
	// TokenRequest for a token that ends and is renewed, Secret for one that does not end.
	Type string `json:"type,omitempty"`
	// When the agent's credential ends. Empty if it does not.
	Expires *metav1.Time `json:"expires,omitempty"`
	// When the hub's CA ends that the agent trusts.
	HubCAExpires *metav1.Time `json:"hubCAExpires,omitempty"`
	// When the credential in the kubeconfig secret ends, as far as it can be told.
	KubeconfigExpires *metav1.Time `json:"kubeconfigExpires,omitempty"`
	// When the cluster's CA in the kubeconfig secret ends.
	KubeconfigCAExpires *metav1.Time `json:"kubeconfigCAExpires,omitempty"`
}
