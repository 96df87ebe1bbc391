package bundle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// reasonAgentBundleChanged says that somebody else than the hub changed an agent's bundle.
const reasonAgentBundleChanged = "AgentBundleChanged"

// unwritten is what is said of a cluster for which something would be made of an agent's bundle of which the hub does not know
// yet that it wrote it.
const unwritten = "waits until the hub has compared the bundle with what the agent is to have"

// judgeAgent keeps everything as it is where an agent's bundle is not as the hub wrote it: what is made of it runs with the
// agent's rights. still says that the hub does not know: then what there is is reported, and nothing is written.
func (h *handler) judgeAgent(bundle *fleet.Bundle) (still bool, err error) {
	cluster, err := h.agentsCluster(bundle)
	if err != nil || cluster == nil {
		return false, err
	}
	switch h.Agents.Ask(cluster, agentbundle.Digest(bundle.Spec)) {
	case agentbundle.Written:
		return false, nil
	case agentbundle.Foreign:
		return false, &finalError{reason: reasonAgentBundleChanged, err: fmt.Errorf(
			"somebody changed the bundle by which the hub keeps the agent of cluster %s current: nothing is made of that, and the hub puts it back; options of an agent are fields of its Cluster", cluster.Name)}
	}
	return true, nil
}

// agentsCluster is the Cluster whose agent's bundle this is, nil for all other bundles.
func (h *handler) agentsCluster(bundle *fleet.Bundle) (*fleet.Cluster, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersByAgentBundle, bundle.Namespace+"/"+bundle.Name)
	if err != nil {
		return nil, fmt.Errorf("looking for the cluster of an agent's bundle: %w", err)
	}
	for _, c := range clusters {
		if names.IsAgentBundle(bundle, c) {
			return c, nil
		}
	}
	return nil, nil
}

// wakeAgentBundle looks at the agent's bundle of a Cluster, which the hub has written.
func (h *handler) wakeAgentBundle(cluster types.NamespacedName) {
	h.Bundles.EnqueueAfter(cluster.Namespace, names.AgentBundle(cluster.Name), 0)
}
