package agentmanifest

import (
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/yaml"
)

// BundleYAML is Objects as the documents of the agent bundle's one resource. The same options give the same bytes.
func BundleYAML(o Options) (string, error) {
	objects, err := Objects(o)
	if err != nil {
		return "", err
	}
	data, err := yaml.Export(objects...)
	if err != nil {
		return "", fmt.Errorf("agent in namespace %q: encoding its objects: %w", o.Namespace, err)
	}
	return string(data), nil
}
