package manageagent

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// reasonTaken is the reason of condition Imported that holds a bundle.
const reasonTaken = "AgentNamespaceTaken"

// reasonBundleTaken is the reason of condition Reconciled where another bundle has the name of the agent's.
const reasonBundleTaken = "AgentBundleTaken"

// taken says what to do about it.
func taken(c *fleet.Cluster) string {
	return fmt.Sprintf("Bundle %s is not the hub's, and has the name of the bundle by which it keeps this cluster's agent current: "+
		"make that bundle anew under another name, and delete it", names.AgentBundle(c.Name))
}

// isGoing says that a Bundle is on its way out: it is deleted, or was an earlier Cluster's of that name, with which it goes.
func isGoing(b *fleet.Bundle, c *fleet.Cluster) bool {
	return b.DeletionTimestamp != nil || slices.ContainsFunc(b.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.Kind == clusterKind.Kind && ref.Name == c.Name && ref.UID != c.UID
	})
}

// resourceName is the one file of an agent's bundle.
const resourceName = "agent.yaml"

// wanted says whether a Cluster is to have a bundle. keep says that it is not for us to say: what is there stays.
func wanted(c *fleet.Cluster, cfg config.Config) (want, keep bool) {
	switch {
	case registration.IsSkipped(c) || c.Spec.Revoked:
		return false, true
	case !cfg.ManagesAgents(), registration.IsLocalDisabled(c, cfg):
		return false, false
	case !conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered):
		return false, true // a cluster that never joined needs none, and one that registers anew keeps its own
	case c.Spec.KubeConfigSecret == "" && c.Status.Agent.LastSeen.IsZero():
		return false, true // its agent has yet to say where it runs
	}
	return true, false
}

// bundleFor is the agent's bundle of a Cluster.
func bundleFor(c *fleet.Cluster, options agentmanifest.Options) (*fleet.Bundle, error) {
	manifest, err := agentmanifest.BundleYAML(options)
	if err != nil {
		return nil, fmt.Errorf("agent of cluster %s: %w", c.Name, err)
	}
	return &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: names.AgentBundle(c.Name)},
		Spec: fleet.BundleSpec{
			BundleDeploymentOptions: fleet.BundleDeploymentOptions{
				DefaultNamespace: options.Namespace,
				Helm:             &fleet.HelmOptions{TakeOwnership: true},
				Diff:             agentmanifest.BundleDiff(options),
			},
			Resources: []fleet.BundleResource{{Name: resourceName, Content: manifest}},
			Targets: []fleet.BundleTarget{{
				ClusterName: c.Name,
				ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key:      names.NonManagedAgentLabel,
					Operator: metav1.LabelSelectorOpDoesNotExist,
				}}},
			}},
		},
	}, nil
}

// finalizersOf are those that a bundle is given, have being the one that there is: the one that the bundle's own controller
// would add right after, which costs each join a write, and what others added. From one that is being deleted they come off
// one by one, and none is put back.
func finalizersOf(have *fleet.Bundle) []string {
	switch {
	case have == nil:
		return []string{names.BundleFinalizer}
	case have.DeletionTimestamp != nil || slices.Contains(have.Finalizers, names.BundleFinalizer):
		return slices.Clone(have.Finalizers)
	default:
		return append(slices.Clone(have.Finalizers), names.BundleFinalizer)
	}
}
