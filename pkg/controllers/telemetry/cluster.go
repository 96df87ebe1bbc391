package telemetry

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

var importedRow = row{condition: fleet.ClusterConditionImported, quiet: importOrders}

var processedRow = row{condition: fleet.ClusterConditionProcessed, quiet: []string{"Leaving"}}

// clusterRows are what is told of a Cluster. Of an order to revoke, condition CredentialValid says that it was done.
var clusterRows = []row{
	processedRow,
	importedRow,
	{condition: fleet.ClusterConditionRegistered, quiet: []string{reasonWaitingForAgent},
		reached: reasonRegistered, message: "The agent uses the credential that the hub granted"},
	{condition: fleet.ClusterConditionAgentConnected, quiet: []string{reasonWaitingForAgent}, loud: []string{registration.ReasonCloneSuspected},
		restored: reasonConnected, message: "Heartbeats come again"},
	{condition: fleet.ClusterConditionCredentialValid, loud: []string{reasonExpiresSoon}},
	{condition: fleet.ClusterConditionUnique},
	{condition: fleet.ClusterConditionAgentUpgraded},
	{condition: fleet.ClusterConditionReconciled},
}

// clusterNews is what a change of a Cluster is worth; before is nil for a new one, after for one that is gone.
func clusterNews(before, after *fleet.Cluster) []announcement {
	if after == nil || registration.IsManagedElsewhere(after) {
		return nil
	}
	if before == nil {
		before = &fleet.Cluster{}
	}
	if after.DeletionTimestamp != nil { // what its bundles left behind is all that anybody has to know
		return told(processedRow.news(aboutCluster(after), before.Status.Conditions, after.Status.Conditions))
	}
	var out []announcement
	for _, r := range clusterRows {
		out = append(out, told(r.news(aboutCluster(after), before.Status.Conditions, after.Status.Conditions))...)
	}
	return append(out, importCounts(before, after)...)
}

// importCounts tells an import that is done by what it leaves in the status, also where the condition was True before.
func importCounts(before, after *fleet.Cluster) (out []announcement) {
	if before.Status.AgentDeployedGeneration == nil && after.Status.AgentDeployedGeneration != nil {
		out = append(out, announcement{count: count{imports, resultImported}})
	}
	was := conditions.GetCondition(before.Status.Conditions, fleet.ClusterConditionImported)
	is := conditions.GetCondition(after.Status.Conditions, fleet.ClusterConditionImported)
	if is == nil || is.Status != corev1.ConditionFalse || slices.Contains(importOrders, is.Reason) {
		return out
	}
	if was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return out
	}
	return append(out, announcement{count: count{imports, known(importFailures, is.Reason)}})
}

// known keeps the values of a label to a fixed set.
func known(set []string, value string) string {
	if slices.Contains(set, value) {
		return value
	}
	return other
}
