package bundledeployment

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

func set(status *fleet.BundleDeploymentStatus, condition string, holds bool, message string, now time.Time) {
	value := corev1.ConditionTrue
	if !holds {
		value = corev1.ConditionFalse
	}
	conditions.SetCondition(&status.Conditions, condition, value, "", message, now)
}

func isFalse(status fleet.BundleDeploymentStatus, condition string) bool {
	found := conditions.GetCondition(status.Conditions, condition)
	return found != nil && found.Status == corev1.ConditionFalse
}

// notDeployed says that the last attempt to deploy failed, or waits.
func notDeployed(status *fleet.BundleDeploymentStatus, message string, now time.Time) {
	set(status, fleet.BundleDeploymentConditionDeployed, false, message, now)
}

// deployed says that a version is on the cluster.
func deployed(status *fleet.BundleDeploymentStatus, deploymentID, release string, now time.Time) {
	status.AppliedDeploymentID, status.Release = deploymentID, release
	set(status, fleet.BundleDeploymentConditionDeployed, true, "", now)
	set(status, fleet.BundleDeploymentConditionInstalled, true, "", now)
}

// notInstalled says that a version was taken on and cannot be installed, which trying again does not change. release is
// what there is of it.
func notInstalled(status *fleet.BundleDeploymentStatus, deploymentID, release, message string, now time.Time) {
	status.AppliedDeploymentID, status.Release = deploymentID, release
	status.Ready, status.NonModified = false, true
	set(status, fleet.BundleDeploymentConditionDeployed, true, "", now)
	set(status, fleet.BundleDeploymentConditionInstalled, false, "not installed: "+message, now)
	set(status, fleet.BundleDeploymentConditionReady, false, "not ready: "+message, now)
}

// observed takes over what the objects are like.
func observed(status *fleet.BundleDeploymentStatus, found drift.Result, now time.Time) {
	status.Ready, status.NonModified = found.Ready, found.NonModified
	status.NonReadyStatus, status.ModifiedStatus, status.IncompleteState = found.NonReadyStatus, found.ModifiedStatus, found.Incomplete
	status.Resources, status.ResourceCounts = found.Resources, found.ResourceCounts
	ready, message := found.Condition()
	set(status, fleet.BundleDeploymentConditionReady, ready, message, now)
	set(status, fleet.BundleDeploymentConditionMonitored, true, "", now)
}

// notObserved says that the objects could not be judged. What was known of them stays.
func notObserved(status *fleet.BundleDeploymentStatus, message string, now time.Time) {
	set(status, fleet.BundleDeploymentConditionMonitored, false, message, now)
}
