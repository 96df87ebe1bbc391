package bundledeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A bundle that is paused runs nothing, whatever there would be to do when the agent begins: neither a version that waits,
// nor a correction, nor a copy, nor a look at what is deployed, nor a removal. Hooks are run by none but these.
func TestAPausedBundleRunsNothingAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.putSource("one")
	w.deployer.revisions["app"] = 1
	w.monitor.finds["app"] = modified()
	w.put("app", copies, correcting, func(bd *fleet.BundleDeployment) {
		bd.Spec.Paused = true
		bd.Status.Release, bd.Status.AppliedDeploymentID = "default/app:1", "earlier:options"
		set(&bd.Status, fleet.BundleDeploymentConditionInstalled, false, "not installed: an interruption", w.Clock.Now())
	})
	w.put("other")
	w.put("waits", func(bd *fleet.BundleDeployment) {
		bd.Spec.Paused = true
		bd.Spec.DependsOn = []fleet.BundleRef{{Name: "other"}}
	})
	w.run()
	w.attach(token)
	w.isDeployed("other")
	w.eventually("it is left alone", func() bool { return w.monitor.isForgotten("app") && w.monitor.isForgotten("waits") })
	unknown, ok := w.Unknown([]string{"app", "waits"})
	assert.True(t, ok)
	assert.Empty(t, unknown, "it is no orphan")
	writes := len(w.patches())
	w.never("touched", func() bool {
		w.Drifted("app")
		w.Look("app", "waits")
		uninstalled, forgotten := w.deployer.gone()
		return len(w.deployer.jobsOf("app"))+len(w.deployer.jobsOf("waits"))+w.deployer.corrected()+w.monitor.looked("app")+
			len(uninstalled)+len(forgotten) > 0 || w.hasSecret("apps", "shared") || len(w.patches()) > writes
	})
	w.edit("app", func(bd *fleet.BundleDeployment) { bd.Spec.Paused = false })
	w.eventually("it goes on", func() bool { return len(w.deployer.jobsOf("app")) == 1 })
}

// Paused or not, what the hub no longer has goes.
func TestAPausedBundleThatIsDeletedIsUninstalled(t *testing.T) {
	w := newWorld(t)
	w.deployer.revisions["app"] = 1
	w.put("app", func(bd *fleet.BundleDeployment) { bd.Spec.Paused = true })
	w.run()
	w.attach(token)
	w.eventually("it is left alone", func() bool { return w.monitor.isForgotten("app") })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}
