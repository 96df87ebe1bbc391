package manageagent

import (
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// reasonBundleChanged is the reason of condition Reconciled where somebody changed the agent's bundle. It is said once: the
// look after that finds all well.
const reasonBundleChanged = "AgentBundleChanged"

func putBack(c *fleet.Cluster) string {
	return fmt.Sprintf("somebody changed Bundle %s, by which the hub keeps this cluster's agent current: nothing was made of that, "+
		"and it was put back; options of an agent are fields of its Cluster", names.AgentBundle(c.Name))
}

// isForeign says that somebody changed the bundle since the hub wrote it. It is then put right without waiting for a turn: that
// is the bundle's own matter, as a change of the Cluster's options is.
func (h *handler) isForeign(f facts) bool {
	return f.bundle != nil && h.Agents.Judge(f.cluster, agentbundle.Digest(f.bundle.Spec)) == agentbundle.Foreign
}

// putBack replaces the whole spec of a bundle that is not as the hub wrote it, be it since the hub runs, or before, where the
// bundle says that it carries what is wanted and does not. To apply it again would leave whatever was added to it.
func (h *handler) putBack(f facts, want *fleet.Bundle, foreign bool) (bool, error) {
	carries := f.bundle != nil && markOf(f.bundle).Generation == f.agent.desired
	if !foreign && !carries || agentbundle.Digest(f.bundle.Spec) == agentbundle.Digest(want.Spec) {
		return false, nil
	}
	bundle := f.bundle.DeepCopy()
	bundle.Spec = *want.Spec.DeepCopy()
	if bundle.Annotations == nil {
		bundle.Annotations = map[string]string{}
	}
	maps.Copy(bundle.Annotations, want.Annotations)
	stored, err := h.Bundles.Update(bundle)
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return true, nil // somebody else's write, whose event brings the Cluster back
		}
		return false, fmt.Errorf("putting back the agent bundle of cluster %s/%s: %w", f.cluster.Namespace, f.cluster.Name, err)
	}
	if agentbundle.Digest(stored.Spec) != agentbundle.Digest(want.Spec) {
		return false, fmt.Errorf("agent bundle of cluster %s/%s is not stored as it was sent: a mutating webhook changes Bundles, "+
			"or the chart fleet-crd is of another version than the hub", f.cluster.Namespace, f.cluster.Name)
	}
	return true, nil // its event goes on with it
}
