package cluster

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// InstallDefinitions makes the definitions of a chart's crds folder that are not there, and waits until they are served. As
// with Helm, those that are there stay as they are, and none is ever removed. They may be cluster-scoped in a bundle that
// may have nothing else of the kind: they belong to nobody.
func (c *Client) InstallDefinitions(objects []*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	installer := *c
	installer.release.Force = ""
	infos, err := installer.Infos(objects, false)
	if err != nil {
		return fmt.Errorf("the definitions of the chart: %w", err)
	}
	var missing kube.ResourceList
	for _, info := range infos {
		object, err := Live(info)
		if err != nil {
			return fmt.Errorf("the definitions of the chart: %w", err)
		}
		if object == nil {
			missing.Append(info)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := installer.Create(missing); err != nil {
		return fmt.Errorf("the definitions of the chart: %w", err)
	}
	return nil
}
