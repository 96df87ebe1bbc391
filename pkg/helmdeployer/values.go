package helmdeployer

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// defaultValuesKey is where values are in a ConfigMap or Secret.
const defaultValuesKey = "values.yaml"

// values are those of the bundle, and over them those of the ConfigMaps and Secrets of the cluster that it names. They are
// read on the bundle's behalf.
func values(ctx context.Context, client kubernetes.Interface, options fleet.BundleDeploymentOptions) (map[string]any, error) {
	merged := map[string]any{}
	if options.Helm == nil {
		return merged, nil
	}
	if given := options.Helm.Values.DeepCopy(); given != nil {
		merged = mergeValues(merged, given.Data)
	}
	for i, from := range options.Helm.ValuesFrom {
		for _, source := range sources(from, options) {
			text, err := source.read(ctx, client)
			if err != nil {
				return nil, fmt.Errorf("helm.valuesFrom[%d]: %w", i, err)
			}
			more := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &more); err != nil {
				// The decoder's message repeats what it read.
				return nil, fmt.Errorf("helm.valuesFrom[%d]: key %s of %s is no YAML mapping", i, source.key, source)
			}
			merged = mergeValues(merged, more)
		}
	}
	return merged, nil
}

// source is a key of a ConfigMap or Secret.
type source struct{ kind, namespace, name, key string }

func (s source) String() string { return fmt.Sprintf("%s %s/%s", s.kind, s.namespace, s.name) }

func sources(from fleet.ValuesFrom, options fleet.BundleDeploymentOptions) []source {
	var found []source
	if ref := from.ConfigMapKeyRef; ref != nil {
		found = append(found, source{"configmap", ref.Namespace, ref.Name, ref.Key})
	}
	if ref := from.SecretKeyRef; ref != nil {
		found = append(found, source{"secret", ref.Namespace, ref.Name, ref.Key})
	}
	for i := range found {
		if found[i].key == "" {
			found[i].key = defaultValuesKey
		}
		if found[i].namespace == "" || isCopied(found[i], options.DownstreamResources) {
			found[i].namespace = Namespace(options)
		}
	}
	return found
}

// isCopied says whether an object is one of those that come with the bundle, into its own namespace.
func isCopied(s source, copied []fleet.DownstreamResource) bool {
	for _, resource := range copied {
		if strings.EqualFold(resource.Kind, s.kind) && resource.Name == s.name {
			return true
		}
	}
	return false
}

func (s source) read(ctx context.Context, client kubernetes.Interface) (string, error) {
	if s.kind == "secret" {
		secret, err := client.CoreV1().Secrets(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("%s: %w", s, err)
		}
		if data, ok := secret.Data[s.key]; ok {
			return string(data), nil
		}
		return "", fmt.Errorf("%s has no key %s", s, s.key)
	}
	object, err := client.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	if text, ok := object.Data[s.key]; ok {
		return text, nil
	}
	if data, ok := object.BinaryData[s.key]; ok {
		return string(data), nil
	}
	return "", fmt.Errorf("%s has no key %s", s, s.key)
}

// mergeValues lays values over others, mapping by mapping. It does not change what it is given.
func mergeValues(under, over map[string]any) map[string]any {
	merged := make(map[string]any, len(under)+len(over))
	for key, value := range under {
		merged[key] = value
	}
	for key, value := range over {
		inner, isMap := value.(map[string]any)
		below, wasMap := merged[key].(map[string]any)
		if isMap && wasMap {
			value = mergeValues(below, inner)
		}
		merged[key] = value
	}
	return merged
}
