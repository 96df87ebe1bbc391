package clusterimport

import (
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// Pace of healing: an agent that does not come back is put there again after a minute, then two, four, …, 30 minutes.
const (
	healFirst = time.Minute
	healLast  = 30 * time.Minute
	// joinPatience is how long an imported agent may take to register before it is put there once more.
	joinPatience = 10 * time.Minute
)

// decideHealing puts an agent there again that does not report, ever more slowly the longer that does not help.
func decideHealing(f facts) *plan {
	status := f.cluster.Status
	registered := conditions.IsTrue(status.Conditions, fleet.ClusterConditionRegistered)
	connected := conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected)
	age := f.now.Sub(f.record.Time)
	var reason string
	wait := healDelay(f.record.Attempts)
	switch {
	case isFalse(status.Conditions, fleet.ClusterConditionCredentialValid):
		reason = "the agent's credential is no longer valid"
	case registered && !connected:
		reason = "the agent is silent"
	case !registered && !f.accountLives:
		reason = "the agent has not registered and its import account ended"
	case !registered:
		reason, wait = "the agent has not registered", joinPatience
	default:
		return nil
	}
	attempts := f.record.Attempts
	if connectedSince(status.Conditions, f.record.Time) {
		attempts, wait = 0, 0 // the last import did help; this is a new trouble
	}
	if f.record.Generation != agentmanifest.Generation(f.options) {
		wait = 0 // what was put there is not what is wanted now; nobody but the hub can correct that
	}
	if age < wait {
		return &plan{again: wait - age}
	}
	return &plan{action: install, reason: reason, fresh: true, attempts: attempts + 1}
}

func healDelay(attempts int) time.Duration {
	if attempts > 5 {
		return healLast
	}
	return min(healFirst<<attempts, healLast)
}

// unhealthy says that the agent is known not to report, or with a credential that is dead.
func unhealthy(c *fleet.Cluster) bool {
	return isFalse(c.Status.Conditions, fleet.ClusterConditionCredentialValid) ||
		isFalse(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
}

func isFalse(list []genericcondition.GenericCondition, kind string) bool {
	c := conditions.GetCondition(list, kind)
	return c != nil && c.Status == corev1.ConditionFalse
}

// connectedSince says that the agent was connected at some time after t, and has been lost since.
func connectedSince(list []genericcondition.GenericCondition, t time.Time) bool {
	c := conditions.GetCondition(list, fleet.ClusterConditionAgentConnected)
	if c == nil {
		return false
	}
	changed, err := time.Parse(time.RFC3339, c.LastTransitionTime)
	return err == nil && changed.After(t)
}
