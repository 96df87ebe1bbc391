package registration

import (
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// graceBeats is how many heartbeats may be missed before an agent counts as silent.
const graceBeats = 3

// IsSkipped says that a Cluster is none of ours to manage: it is being deleted, or another manager has it.
func IsSkipped(c *fleet.Cluster) bool {
	return c == nil || c.DeletionTimestamp != nil || IsManagedElsewhere(c)
}

// IsManagedElsewhere says that another manager has taken the Cluster over by its label.
func IsManagedElsewhere(c *fleet.Cluster) bool {
	return c.Labels[names.ClusterManagementLabel] != ""
}

// IsLocal says whether a Cluster is the hub itself, by its name and the workspace of the configuration.
func IsLocal(c *fleet.Cluster, cfg config.Config) bool {
	return c != nil && cfg.BootstrapEnabled() && c.Name == names.LocalCluster && c.Namespace == cfg.Bootstrap.Namespace
}

// IsLocalDisabled says whether a Cluster is the hub itself and its agent is switched off.
func IsLocalDisabled(c *fleet.Cluster, cfg config.Config) bool {
	return IsLocal(c, cfg) && cfg.Bootstrap.LocalAgentDisabled
}

// Ways in which a cluster joins.
const (
	JoinedByManager = "manager"
	JoinedByAgent   = "agent"
	JoinedLocally   = "local"
)

// JoinMethod says how a cluster joins. The local one is recognised without the hub's configuration: by its name together
// with the secret that the hub, or Rancher, made for it. A label would not do: anybody's Cluster may have it, and an
// agent gives labels to the Cluster that is created for it.
func JoinMethod(c *fleet.Cluster) string {
	secret := c.Spec.KubeConfigSecret
	switch {
	case c.Name == names.LocalCluster && (secret == names.LocalKubeconfigSecret || secret == names.RancherLocalKubeconfigSecret):
		return JoinedLocally
	case secret != "":
		return JoinedByManager
	default:
		return JoinedByAgent
	}
}

// Grace is how long an agent may be silent: three intervals.
func Grace(interval time.Duration) time.Duration { return graceBeats * interval }

// leastLife is the shortest life of the credential of an agent that only its own cluster can bring back: one that is off
// for longer than the rest of that has lost the hub.
const leastLife = 30 * 24 * time.Hour

// LeastLife is the shortest life of a credential that will do for the cluster's agent, zero where any will. An API server
// that grants less is asked for one without an end.
func LeastLife(c *fleet.Cluster, cfg config.Config) time.Duration {
	if c.Spec.KubeConfigSecret == "" && cfg.AgentCredential.OnShortLifetime == config.ShortLifetimeSecret {
		return leastLife
	}
	return 0
}

// Lifetime is how long a credential of the cluster's agent is asked to live. An agent that joined by itself gets the
// longer one: the hub has no way to heal it.
func Lifetime(c *fleet.Cluster, cfg config.Config) time.Duration {
	if c.Spec.KubeConfigSecret == "" {
		return cfg.AgentCredential.AgentInitiatedLifetime.Duration
	}
	return cfg.AgentCredential.Lifetime.Duration
}
