package registration

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// States of a cluster, as people are shown them. They follow from conditions alone and mean the same for every way of
// joining.
const (
	StateLeaving     = "Leaving"
	StateRevoked     = "Revoked"
	StateBlocked     = "Blocked"
	StateRegistering = "Registering"
	StateConnected   = "Connected"
	StateSilent      = "Silent"
	StateRefused     = "CredentialInvalid"
	StateClone       = "CloneSuspected"
)

// StateOf says in one word how a cluster is, and in a sentence what it waits for, empty where it waits for nothing.
func StateOf(c *fleet.Cluster) (state, waitsFor string) {
	list := c.Status.Conditions
	message := func(kind string) string {
		if condition := conditions.GetCondition(list, kind); condition != nil && condition.Status != corev1.ConditionTrue {
			return condition.Message
		}
		return ""
	}
	isFalse := func(kind string) bool {
		condition := conditions.GetCondition(list, kind)
		return condition != nil && condition.Status == corev1.ConditionFalse
	}
	switch {
	case c.DeletionTimestamp != nil:
		return StateLeaving, first(message(fleet.ClusterConditionProcessed), "its objects on the hub are being removed")
	case c.Spec.Revoked:
		return StateRevoked, ""
	case isFalse(fleet.ClusterConditionProcessed):
		return StateBlocked, message(fleet.ClusterConditionProcessed)
	case !conditions.IsTrue(list, fleet.ClusterConditionRegistered) && isFalse(fleet.ClusterConditionImported):
		return StateBlocked, message(fleet.ClusterConditionImported)
	case !conditions.IsTrue(list, fleet.ClusterConditionRegistered):
		return StateRegistering, first(message(fleet.ClusterConditionRegistered), "waiting for the agent's first heartbeat")
	case isFalse(fleet.ClusterConditionCredentialValid):
		return StateRefused, message(fleet.ClusterConditionCredentialValid)
	case isFalse(fleet.ClusterConditionAgentConnected):
		// Why the hub does not put the agent there again belongs to it.
		return StateSilent, both(message(fleet.ClusterConditionAgentConnected), message(fleet.ClusterConditionImported))
	case isSuspected(c):
		clone, _ := CloneOf(c.Annotations)
		return StateClone, clone.Message(c)
	default:
		return StateConnected, message(fleet.ClusterConditionImported)
	}
}

func isSuspected(c *fleet.Cluster) bool {
	_, suspected := CloneOf(c.Annotations)
	return suspected
}

func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
