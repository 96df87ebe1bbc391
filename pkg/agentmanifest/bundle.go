package agentmanifest

import (
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/yaml"
	schedulingv1 "k8s.io/api/scheduling/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// BundleYAML is what Scheduling and Objects return as the documents of the agent bundle's one resource. The same options
// give the same bytes.
func BundleYAML(o Options) (string, error) {
	scheduling, err := Scheduling(o)
	if err != nil {
		return "", err
	}
	objects, err := Objects(o)
	if err != nil {
		return "", err
	}
	data, err := yaml.Export(append(scheduling, objects...)...)
	if err != nil {
		return "", fmt.Errorf("agent in namespace %q: encoding its objects: %w", o.Namespace, err)
	}
	return string(data), nil
}

// BundleDiff is what does not count as a change of the agent's objects. All agents of a cluster have one PriorityClass: it has
// to be there, and is of whom deployed it last. Else two agents would take it from each other without end.
func BundleDiff(o Options) *fleet.DiffOptions {
	if o.PriorityClass == nil {
		return nil
	}
	return &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{{
		APIVersion: schedulingv1.SchemeGroupVersion.String(), Kind: "PriorityClass", Name: names.AgentPriorityClass,
		JsonPointers: []string{"/metadata/labels", "/metadata/annotations", "/value", "/preemptionPolicy", "/description"},
	}}}
}
