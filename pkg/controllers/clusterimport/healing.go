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
	// settling is how long an agent may take, after the hub was away, to find that it is back and to go on.
	settling = 2 * time.Minute
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
		if f.record.Attempts == 0 {
			wait = 0 // what it was given is of no use: there is nothing to wait for
		}
	case !registered:
		reason, wait = "the agent has not registered", joinPatience
	default:
		return nil
	}
	attempts := f.record.Attempts
	switch held, connectedOnce := heldFor(status.Conditions, f.record.Time); {
	case connectedOnce && attempts == 0:
		wait = 0 // what went well at first was lost; put it right at once
	case held >= joinPatience:
		attempts, wait = 0, 0 // the last healing did help; this is a new trouble
	}
	if f.record.Generation != agentmanifest.Generation(f.options) {
		wait = 0 // what was put there is not what is wanted now; nobody but the hub can correct that
	}
	if left := max(wait-age, unseen(f, wait)); left > 0 {
		return &plan{again: left}
	}
	return &plan{action: install, reason: reason, fresh: true, attempts: attempts + 1}
}

// unseen is how much of a wait is left because the hub itself was out of touch: what an agent tried meanwhile it could not
// see or answer.
func unseen(f facts, wait time.Duration) time.Duration {
	wait = min(wait, settling)
	if f.touch.Lost {
		return wait
	}
	return wait - f.now.Sub(f.touch.Since)
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

// heldFor is how long after t an agent was connected that has been lost since; ok is false if it never was. An agent that
// is lost again and again soon after it was healed has another trouble, such as a second hub or Cluster that takes it.
func heldFor(list []genericcondition.GenericCondition, t time.Time) (held time.Duration, ok bool) {
	c := conditions.GetCondition(list, fleet.ClusterConditionAgentConnected)
	if c == nil {
		return 0, false
	}
	changed, err := time.Parse(time.RFC3339, c.LastTransitionTime)
	if err != nil || !changed.After(t) {
		return 0, false
	}
	return changed.Sub(t), true
}
