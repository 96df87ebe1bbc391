// Package config is the configuration of hub and agent: the document in a ConfigMap, read tolerantly, and a source that
// tells its subscribers of a change. The keys are listed in docs/contract.md.
//
// The package is pure: it may import the API types, apimachinery, pkg/names and the standard library.
package config

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Modes of trust in the hub's and the downstream's certificate (key agentTLSMode).
const (
	// TLSStrict trusts the given CA alone.
	TLSStrict = "strict"
	// TLSSystemStore trusts the system's roots and the given CA.
	TLSSystemStore = "system-store"
)

// Choices for a server that grants a shorter credential than was asked for (agentCredential.onShortLifetime).
const (
	ShortLifetimeSecret    = "secret"
	ShortLifetimeRenewOnly = "renewOnly"
)

// Choices for what a deleted Cluster leaves downstream (clusterOnDelete, Cluster.spec.onDelete).
const (
	OnDeleteKeep   = "keep"
	OnDeleteRemove = "remove"
)

// Defaults of what a document leaves out.
const (
	DefaultGitClientTimeout        = 30 * time.Second
	DefaultHeartbeatInterval       = 60 * time.Second
	DefaultCheckinInterval         = 15 * time.Minute
	DefaultCredentialLifetime      = 90 * 24 * time.Hour
	DefaultAgentInitiatedLifetime  = 365 * 24 * time.Hour
	DefaultUngrantedTTL            = 24 * time.Hour
	DefaultMaxUngranted            = 500
	MostUses                       = 1000
	DefaultUpgradeSoak             = 2 * time.Minute
	DefaultOnDeleteTimeout         = 5 * time.Minute
	DefaultAgentWorkers            = "50"
	defaultUpgradeMaxUnavailable   = "10%"
	defaultAgentImageWithoutTagged = "rancher/fleet-agent"
)

// Config is the hub's configuration, and the agent's, which uses Labels, ClientID, AgentTLSMode and
// GarbageCollectionInterval alone.
type Config struct {
	AgentImage                      string                        `json:"agentImage,omitempty"`
	AgentImagePullPolicy            string                        `json:"agentImagePullPolicy,omitempty"`
	SystemDefaultRegistry           string                        `json:"systemDefaultRegistry,omitempty"`
	AgentCheckinInterval            metav1.Duration               `json:"agentCheckinInterval,omitempty"`
	AgentHeartbeatInterval          metav1.Duration               `json:"agentHeartbeatInterval,omitempty"`
	ManageAgent                     *bool                         `json:"manageAgent,omitempty"`
	Labels                          map[string]string             `json:"labels,omitempty"`
	ClientID                        string                        `json:"clientID,omitempty"`
	APIServerURL                    string                        `json:"apiServerURL,omitempty"`
	APIServerCA                     []byte                        `json:"apiServerCA,omitempty"`
	Bootstrap                       Bootstrap                     `json:"bootstrap,omitempty"`
	IgnoreClusterRegistrationLabels bool                          `json:"ignoreClusterRegistrationLabels,omitempty"`
	AgentTLSMode                    string                        `json:"agentTLSMode,omitempty"`
	GitClientTimeout                metav1.Duration               `json:"gitClientTimeout,omitempty"`
	GarbageCollectionInterval       metav1.Duration               `json:"garbageCollectionInterval,omitempty"`
	AgentWorkers                    AgentWorkers                  `json:"agentWorkers,omitempty"`
	ImagePullSecrets                []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	AgentCredential                 AgentCredential               `json:"agentCredential,omitempty"`
	Registration                    Registration                  `json:"registration,omitempty"`
	AgentUpgrade                    AgentUpgrade                  `json:"agentUpgrade,omitempty"`
	ClusterOnDelete                 string                        `json:"clusterOnDelete,omitempty"`
	// ClusterOnDeleteTimeout is how long a deleted Cluster waits for what is to be removed from its cluster.
	ClusterOnDeleteTimeout metav1.Duration `json:"clusterOnDeleteTimeout,omitempty"`
}

// Bootstrap says how the hub registers itself. An empty Namespace, or "-", turns it off.
type Bootstrap struct {
	Namespace          string            `json:"namespace,omitempty"`
	AgentNamespace     string            `json:"agentNamespace,omitempty"`
	LocalAgentDisabled bool              `json:"localAgentDisabled,omitempty"`
	ClusterLabels      map[string]string `json:"clusterLabels,omitempty"`
	Repo               string            `json:"repo,omitempty"`
	Secret             string            `json:"secret,omitempty"`
	Paths              string            `json:"paths,omitempty"`
	Branch             string            `json:"branch,omitempty"`
}

// AgentWorkers are numbers of concurrent reconciles in the agent, as text.
type AgentWorkers struct {
	BundleDeployment string `json:"bundledeployment,omitempty"`
	Drift            string `json:"drift,omitempty"`
}

// AgentCredential says how long credentials of agents live.
type AgentCredential struct {
	Lifetime               metav1.Duration `json:"lifetime,omitempty"`
	AgentInitiatedLifetime metav1.Duration `json:"agentInitiatedLifetime,omitempty"`
	OnShortLifetime        string          `json:"onShortLifetime,omitempty"`
}

// Registration says what a registration request must bring, how long an ungranted one is kept, and how many of a token.
type Registration struct {
	RequireIdentity bool `json:"requireIdentity,omitempty"`
	// StrictLabels lets agents bring the labels that their token lists, and no others.
	StrictLabels bool            `json:"strictLabels,omitempty"`
	TTLUngranted metav1.Duration `json:"ttlUngranted,omitempty"`
	MaxUngranted int             `json:"maxUngranted,omitempty"`
	// MaxUses is how many requests a token grants that does not say it itself (spec.maxUses); 0 is no limit.
	MaxUses int `json:"maxUses,omitempty"`
}

// AgentUpgrade says in which order and how fast agents are upgraded.
type AgentUpgrade struct {
	Canary         *metav1.LabelSelector `json:"canary,omitempty"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	Soak           metav1.Duration       `json:"soak,omitempty"`
}

// Default is the configuration without any document: agents run the image of the hub's own version.
func Default(version string) Config {
	maxUnavailable := intstr.FromString(defaultUpgradeMaxUnavailable)
	return Config{
		AgentImage:             defaultAgentImageWithoutTagged + ":" + version,
		GitClientTimeout:       metav1.Duration{Duration: DefaultGitClientTimeout},
		AgentHeartbeatInterval: metav1.Duration{Duration: DefaultHeartbeatInterval},
		AgentCredential: AgentCredential{
			Lifetime:               metav1.Duration{Duration: DefaultCredentialLifetime},
			AgentInitiatedLifetime: metav1.Duration{Duration: DefaultAgentInitiatedLifetime},
			OnShortLifetime:        ShortLifetimeSecret,
		},
		Registration: Registration{TTLUngranted: metav1.Duration{Duration: DefaultUngrantedTTL}, MaxUngranted: DefaultMaxUngranted},
		AgentUpgrade: AgentUpgrade{
			MaxUnavailable: &maxUnavailable,
			Soak:           metav1.Duration{Duration: DefaultUpgradeSoak},
		},
		ClusterOnDelete:        OnDeleteKeep,
		ClusterOnDeleteTimeout: metav1.Duration{Duration: DefaultOnDeleteTimeout},
	}
}

// BootstrapEnabled says whether the hub is to register itself.
func (c Config) BootstrapEnabled() bool {
	return c.Bootstrap.Namespace != "" && c.Bootstrap.Namespace != "-"
}

// ManagesAgents says whether agent bundles are made.
func (c Config) ManagesAgents() bool {
	return c.ManageAgent == nil || *c.ManageAgent
}
