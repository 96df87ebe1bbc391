package telemetry

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/summary"
)

// bundleRow is what is told of a bundle. Without a reason, Ready says how its clusters are, which changes all the time.
var bundleRow = row{condition: fleet.BundleConditionReady, quiet: append([]string{""}, bundleWaits...)}

// bundleNews is what a change of a Bundle is worth; before is nil for a new one, after for one that is gone.
func bundleNews(before, after *fleet.Bundle) []announcement {
	if after == nil || after.DeletionTimestamp != nil {
		return nil
	}
	if before == nil {
		before = &fleet.Bundle{}
	}
	out := told(bundleRow.news(aboutBundle(after), before.Status.Conditions, after.Status.Conditions))
	for i := range out {
		out[i].count = count{bundleRefused, known(bundleRefusals, bundleRow.of(after.Status.Conditions).Reason)}
	}
	return out
}

// isRefused says whether nothing is done for a bundle until somebody does something.
func isRefused(b *fleet.Bundle) bool {
	ready := bundleRow.of(b.Status.Conditions)
	return ready != nil && bundleRow.warns(ready)
}

// deploymentNews is what a change of a BundleDeployment is worth: that its agent could not apply the version which it is
// to have.
func deploymentNews(before, after *fleet.BundleDeployment) []announcement {
	if after == nil || after.DeletionTimestamp != nil || summary.State(after) != fleet.ErrApplied {
		return nil
	}
	if before != nil && summary.State(before) == fleet.ErrApplied && before.Spec.DeploymentID == after.Spec.DeploymentID {
		return nil
	}
	return []announcement{{
		event: warning(aboutDeployment(after), string(fleet.ErrApplied), fleet.BundleDeploymentConditionDeployed+"=False: "+summary.Message(after)),
		count: count{of: deploymentFailed},
	}}
}

// bundleState is the state of a bundle in the figures.
func bundleState(b *fleet.Bundle) string {
	ready := conditions.GetCondition(b.Status.Conditions, fleet.BundleConditionReady)
	switch {
	case b.DeletionTimestamp != nil:
		return stateLeaving
	case ready == nil || b.Status.ObservedGeneration < b.Generation:
		return stateWaiting
	case isRefused(b):
		return stateRefused
	case ready.Status == corev1.ConditionFalse && ready.Reason != "":
		return stateWaiting
	case b.Status.Display.State == "":
		return string(fleet.Ready)
	}
	return known(bundleStates, b.Status.Display.State)
}

// deploymentState is the state of a deployment in the figures.
func deploymentState(bd *fleet.BundleDeployment) string {
	if bd.DeletionTimestamp != nil {
		return stateLeaving
	}
	return known(deploymentStates, string(summary.State(bd)))
}
