package helmdeployer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
	"github.com/rancher/fleet/pkg/names"
)

// maxAgentDocument bounds what is decoded in order to look for the agent: no object that an API server takes is larger.
const maxAgentDocument = 2 << 20

// holdsAgent says whether the agent's own Deployment is among the objects of a release. One that mentions it and cannot be
// read counts: an agent does not remove itself on doubt. What does not mention it is not decoded: it may be anybody's work.
func holdsAgent(manifest, releaseNamespace, agentNamespace string) bool {
	if !strings.Contains(manifest, names.AgentDeployment) {
		return false
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF):
			return false
		case err != nil:
			return true
		case !bytes.Contains(document, []byte(names.AgentDeployment)):
			continue
		case len(document) > maxAgentDocument:
			return true
		}
		objects, err := render.Decode(document)
		if err != nil || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			return isAgentsDeployment(o, releaseNamespace, agentNamespace)
		}) {
			return true
		}
	}
}

func isAgentsDeployment(o *unstructured.Unstructured, releaseNamespace, agentNamespace string) bool {
	kind := o.GroupVersionKind()
	return kind.Group == "apps" && kind.Kind == "Deployment" && o.GetName() == names.AgentDeployment &&
		cmp.Or(o.GetNamespace(), releaseNamespace) == agentNamespace
}
