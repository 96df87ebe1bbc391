package clusterimport

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
)

func (h *handler) reportProblem(f facts, reason, message string) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionImported, metav1.ConditionFalse, reason, message, now)
		showLives(status, f)
	})
	return err
}

// reportHealthy takes back what was said of a trouble that is over without another import.
func (h *handler) reportHealthy(f facts) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionImported, metav1.ConditionTrue, reasonImported, "", now)
		showLives(status, f)
	})
	return err
}

// reportImported writes what was deployed. The migration flags are those of the wire; a reader of an older version takes
// them for granted.
func (h *handler) reportImported(f facts, p plan) error {
	now := h.Clock.Now()
	updated, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		generation := f.cluster.Spec.RedeployAgentGeneration
		status.AgentDeployedGeneration = &generation
		status.AgentMigrated, status.CattleNamespaceMigrated, status.AgentNamespaceMigrated = true, true, true
		status.AgentConfigChanged = false
		status.APIServerURL, status.APIServerCAHash = p.target.serverURL, caHash(p.target.serverCA)
		status.AgentTLSMode = f.config.AgentTLSMode
		status.GarbageCollectionInterval = nil
		if d := f.config.GarbageCollectionInterval; d.Duration != 0 {
			status.GarbageCollectionInterval = &d
		}
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionImported, metav1.ConditionTrue, reasonImported, "", now)
		showLives(status, f)
	})
	if updated != nil {
		h.recent.Wrote(updated)
	}
	if err == nil {
		h.ended("")
	}
	return err
}

// reportTornDown clears what an import had written, and says what became of the agent.
func (h *handler) reportTornDown(f facts, what string) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		status.Agent = fleet.AgentStatus{}
		status.AgentDeployedGeneration = nil
		status.AgentConfigChanged = false
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionImported, metav1.ConditionFalse, reasonTornDown,
			"bootstrap.localAgentDisabled is set; "+what, now)
		showLives(status, f)
	})
	return err
}

// refused says that the last look found the agent's namespace in another's hands.
func refused(c *fleet.Cluster) bool {
	imported := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionImported)
	return imported != nil && imported.Reason == reasonTaken
}
