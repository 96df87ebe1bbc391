package helmdeployer

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
	"github.com/rancher/fleet/pkg/names"
)

// holdsAgent says whether the agent's own Deployment is among the objects of a release. One that mentions it and cannot be
// read counts: an agent does not remove itself on doubt.
func holdsAgent(manifest, releaseNamespace, agentNamespace string) bool {
	if !strings.Contains(manifest, names.AgentDeployment) {
		return false
	}
	objects, err := render.Decode([]byte(manifest))
	if err != nil {
		return true
	}
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		kind := o.GroupVersionKind()
		return kind.Group == "apps" && kind.Kind == "Deployment" && o.GetName() == names.AgentDeployment &&
			cmp.Or(o.GetNamespace(), releaseNamespace) == agentNamespace
	})
}
