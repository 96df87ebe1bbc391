package bundledeployment

import (
	"slices"
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// hold says why a BundleDeployment is left alone, empty if it is not.
func hold(bd *fleet.BundleDeployment) string {
	switch {
	case bd.DeletionTimestamp != nil:
		return "it is being deleted"
	case bd.Spec.Paused:
		return "it is paused"
	case bd.Spec.OffSchedule:
		return "it is outside its schedule"
	case bd.Spec.WaitingForValues:
		return "the hub has not got its values"
	case bd.Spec.DeploymentID == "":
		return "it has not been its turn in the rollout"
	}
	return ""
}

// manifestOf is the name of the content that a deployment ID begins with.
func manifestOf(deploymentID string) string {
	manifest, _, _ := strings.Cut(deploymentID, ":")
	return manifest
}

// isAgent says whether that bundle is the agent of this very cluster: it has the name, and is of the cluster's workspace. The
// hub sends nothing else under it.
func isAgent(bd *fleet.BundleDeployment, s *attached) bool {
	workspace, known := bd.Labels[fleet.BundleNamespaceLabel]
	return bd.Name == names.AgentBundle(s.Cluster) && (!known || workspace == s.Workspace)
}

// hasAgent says whether the agent itself was deployed for a bundle, which need not be that of this cluster: after its
// Cluster was made under another name, an agent's release has the old one. It is forgotten and never uninstalled. The releases
// are those that count.
func hasAgent(name string, s *attached, releases []helmdeployer.Deployed) bool {
	return name == names.AgentBundle(s.Cluster) ||
		slices.ContainsFunc(releases, func(r helmdeployer.Deployed) bool { return r.Agent })
}

// isMonitored says whether what was deployed is what is to be deployed, so that it can be judged.
func isMonitored(spec fleet.BundleDeploymentSpec, status fleet.BundleDeploymentStatus) bool {
	return status.Release != "" && spec.DeploymentID == status.AppliedDeploymentID && !isFalse(status, fleet.BundleDeploymentConditionInstalled)
}

// isOverwritten says whether something is missing that another bundle has taken over before.
func isOverwritten(o fleet.BundleDeploymentOptions, modified []fleet.ModifiedStatus) bool {
	for _, missing := range modified {
		for _, taken := range o.Overwrites {
			if missing.Create && missing.Kind == taken.Kind && missing.Name == taken.Name &&
				(taken.Namespace == "" || taken.Namespace == missing.Namespace) {
				return true
			}
		}
	}
	return false
}
