package summary

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// State is the state of a deployment. One that is not there yet, or was never released to its cluster, is Pending.
func State(bd *fleet.BundleDeployment) fleet.BundleState {
	if bd == nil || bd.Spec.DeploymentID == "" {
		return fleet.Pending
	}
	return StateFor(bd, bd.Spec.DeploymentID)
}

// StateFor is the state of a deployment as seen by who wants the version with that ID on the cluster. While the cluster
// waits for its turn in a rollout it has not applied that version.
func StateFor(bd *fleet.BundleDeployment, want string) fleet.BundleState {
	switch {
	case bd == nil:
		return fleet.Pending
	case bd.Status.AppliedDeploymentID != want:
		if isFalse(bd, fleet.BundleDeploymentConditionDeployed) {
			return fleet.ErrApplied
		}
		return fleet.WaitApplied
	case !bd.Status.Ready:
		return fleet.NotReady
	case bd.Spec.StagedDeploymentID != want:
		return fleet.OutOfSync
	case !bd.Status.NonModified:
		return fleet.Modified
	default:
		return fleet.Ready
	}
}

// Message is why a deployment is not ready, as far as its agent said so; empty where it said nothing.
func Message(bd *fleet.BundleDeployment) string {
	if bd == nil {
		return ""
	}
	return MessageFor(bd, bd.Spec.DeploymentID)
}

// MessageFor is Message for who wants the version with that ID on the cluster.
func MessageFor(bd *fleet.BundleDeployment, want string) string {
	if bd == nil {
		return ""
	}
	if text := said(bd, fleet.BundleDeploymentConditionDeployed); text != "" {
		return text
	}
	// What was said of an installation belongs to the version that was applied.
	if bd.Status.AppliedDeploymentID == want {
		if text := said(bd, fleet.BundleDeploymentConditionInstalled); text != "" {
			return text
		}
	}
	return said(bd, fleet.BundleDeploymentConditionMonitored)
}

// Display is a deployment in the words of lists. It follows from the rest of the object alone: whoever writes a status
// writes this with it, and nobody has to write it afterwards.
func Display(bd *fleet.BundleDeployment) fleet.BundleDeploymentDisplay {
	return fleet.BundleDeploymentDisplay{
		Deployed:  shown(bd, fleet.BundleDeploymentConditionDeployed),
		Monitored: shown(bd, fleet.BundleDeploymentConditionMonitored),
		State:     string(State(bd)),
	}
}

// Worst is the state that represents all of the given ones, empty where they are all Ready or there are none: that is
// what a display shows.
func Worst(states ...fleet.BundleState) fleet.BundleState {
	worst := fleet.BundleState("")
	for _, state := range states {
		if state != fleet.Ready && fleet.StateRank[state] > fleet.StateRank[worst] {
			worst = state
		}
	}
	return worst
}

func isFalse(bd *fleet.BundleDeployment, kind string) bool {
	condition := conditions.GetCondition(bd.Status.Conditions, kind)
	return condition != nil && condition.Status == corev1.ConditionFalse
}

func said(bd *fleet.BundleDeployment, kind string) string {
	if condition := conditions.GetCondition(bd.Status.Conditions, kind); condition != nil {
		return printable(condition.Message, maxMessage)
	}
	return ""
}

// shown is the status of a condition, or its error.
func shown(bd *fleet.BundleDeployment, kind string) string {
	condition := conditions.GetCondition(bd.Status.Conditions, kind)
	switch {
	case condition == nil:
		return ""
	case condition.Status == corev1.ConditionFalse && condition.Message != "":
		return "Error: " + printable(condition.Message, maxShown)
	default:
		return printable(string(condition.Status), maxWord)
	}
}
