package clusterimport

import (
	"fmt"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// fingerprint is everything that a decision rests on except the time, in a form that can be compared.
func fingerprint(f facts, tokenVersion string) string {
	c := f.cluster
	secret := ""
	if f.secret != nil {
		secret = string(f.secret.UID) + "/" + f.secret.ResourceVersion
	}
	deployed := int64(-1)
	if c.Status.AgentDeployedGeneration != nil {
		deployed = *c.Status.AgentDeployedGeneration
	}
	return fmt.Sprintln(
		c.UID, c.Generation, c.Labels[names.ClusterManagementLabel], c.Annotations[names.ImportAnnotation],
		c.Status.Namespace, deployed, c.Status.AgentConfigChanged, c.Status.APIServerURL, c.Status.APIServerCAHash, c.Status.AgentTLSMode,
		c.Status.GarbageCollectionInterval, c.Status.Agent.Namespace,
		conditionsOf(c), secret, tokenVersion, f.accountLives, f.optionsError,
		agentmanifest.Generation(f.options), f.config.APIServerURL, caHash(f.config.APIServerCA), f.config.AgentTLSMode,
		f.config.GarbageCollectionInterval.Duration, f.config.Bootstrap.Namespace, f.config.Bootstrap.LocalAgentDisabled,
	)
}

// conditionsOf leaves out Imported, which the import itself writes.
func conditionsOf(c *fleet.Cluster) (out []string) {
	for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid} {
		if condition := conditions.GetCondition(c.Status.Conditions, kind); condition != nil {
			out = append(out, kind+"="+string(condition.Status))
		}
	}
	return out
}
