package explain

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// StateOf says in one word how a cluster is, and what it waits for, empty where it waits for nothing. Where a request is
// nearer to the cause than the Cluster's own conditions, it is named. cluster is nil for one that is only asked for.
// requests are those that concern it.
func StateOf(cluster *fleet.Cluster, requests []*fleet.ClusterRegistration) (state, waitsFor string) {
	state = StateRequested
	if cluster != nil {
		state, waitsFor = registration.StateOf(cluster)
	}
	switch state {
	case registration.StateRevoked:
		return state, "spec.revoked of the Cluster to be taken off"
	case registration.StateLeaving, registration.StateBlocked:
		return state, waitsFor
	}
	if r := awaited(state, requests); r != nil {
		reason := refusal(r)
		if reason == "" {
			reason = "the hub has not answered yet"
		}
		waitsFor = "request " + r.Name + ": " + reason
	}
	if waitsFor == "" && state == registration.StateConnected {
		waitsFor = awaitedUpgrade(cluster)
	}
	return state, waitsFor
}

// awaitedUpgrade is what the agent's upgrade waits for, empty where none is under way.
func awaitedUpgrade(cluster *fleet.Cluster) string {
	upgraded := conditions.GetCondition(cluster.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
	if upgraded == nil || upgraded.Status == corev1.ConditionTrue {
		return ""
	}
	return "its agent's upgrade: " + upgraded.Reason
}

// awaited is the request that a cluster waits for, nil where there is none: one that a person has to decide about, or else
// the newest one of a cluster that is not connected. One that was denied is still asked for by its agent.
func awaited(state string, requests []*fleet.ClusterRegistration) *fleet.ClusterRegistration {
	sorted := newestFirst(requests)
	for _, r := range sorted {
		if !r.Status.Granted && r.DeletionTimestamp == nil && WaitsForPerson(refusal(r)) {
			return r
		}
	}
	if state == registration.StateConnected || len(sorted) == 0 {
		return nil
	}
	newest := sorted[0]
	reason := refusal(newest)
	if newest.Status.Granted || newest.DeletionTimestamp != nil || registration.IsFinal(reason) || reason == ReasonRevoked || reason == reasonDeleted {
		return nil
	}
	return newest
}

// refusal is why the hub does not grant a request, empty where it has not said so.
func refusal(r *fleet.ClusterRegistration) string {
	granted := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
	if granted == nil || granted.Status != corev1.ConditionFalse {
		return ""
	}
	return granted.Reason
}
