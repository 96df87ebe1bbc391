package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/target/sandbox"
)

// labelReference begins a value that stands for the value of a label of the cluster.
const labelReference = "global.fleet.clusterLabels."

// valuesField is where values are wrong.
const valuesField = "spec.helm.values"

// render makes the values for one cluster. helm is not changed.
func (c *compiled) render(v *version, cluster *fleet.Cluster) (*fleet.HelmOptions, *fieldError) {
	helm := *v.options.Helm
	labels := usableLabels(cluster)
	text := v.text
	var values map[string]any
	if helm.Values != nil {
		values = helm.Values.Data
	}
	if v.references {
		if len(labels) == 0 {
			// A cluster that has lost its labels must not get blanks instead of them.
			return nil, &fieldError{field: valuesField, err: errors.New("the values refer to labels of the cluster, and it has none at all")}
		}
		values, _ = resolved(values, labels).(map[string]any)
		if text != "" {
			encoded, err := yaml.Marshal(values)
			if err != nil {
				return nil, &fieldError{field: valuesField, err: bounded(err)}
			}
			text = string(encoded)
		}
	}
	if v.templates {
		data := templateData(cluster, labels)
		if text != "" {
			var err error
			if values, err = c.fillIn(text, data); err != nil {
				return nil, &fieldError{field: valuesField, err: err}
			}
		}
		var err *fieldError
		if values, err = c.addTemplateValues(values, helm.TemplateValues, data); err != nil {
			return nil, err
		}
	}
	helm.Values = &fleet.GenericMap{Data: values}
	return &helm, nil
}

// usableLabels are the labels of the cluster that values may use: not those of tools.
func usableLabels(cluster *fleet.Cluster) map[string]string {
	usable := make(map[string]string, len(cluster.Labels))
	for key, value := range cluster.Labels {
		ours := strings.HasPrefix(key, names.Prefix) || strings.HasPrefix(key, names.ManagementPrefix)
		if ours || !strings.HasPrefix(key, "kubectl.kubernetes.io/") && !strings.Contains(key, "cattle.io/") {
			usable[key] = value
		}
	}
	return usable
}

// resolved is a copy in which the references to labels are replaced. A label that the cluster does not have is an empty text.
func resolved(value any, labels map[string]string) any {
	switch value := value.(type) {
	case string:
		if label, is := strings.CutPrefix(value, labelReference); is {
			return labels[label]
		}
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, element := range value {
			out[key] = resolved(element, labels)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = resolved(element, labels)
		}
		return out
	}
	return value
}

// templateData is what a template can use.
func templateData(cluster *fleet.Cluster, labels map[string]string) map[string]any {
	values := map[string]any{}
	if cluster.Spec.TemplateValues != nil && cluster.Spec.TemplateValues.Data != nil {
		values = cluster.Spec.TemplateValues.Data
	}
	return map[string]any{
		"ClusterNamespace":   cluster.Namespace,
		"ClusterName":        cluster.Name,
		"ClusterLabels":      dictionary(labels),
		"ClusterAnnotations": dictionary(cluster.Annotations),
		"ClusterValues":      values,
	}
}

// dictionary is a map as the template functions for dictionaries want it.
func dictionary(from map[string]string) map[string]any {
	out := make(map[string]any, len(from))
	for key, value := range from {
		out[key] = value
	}
	return out
}

// fillIn executes the template that the values are, and reads what comes out. Nothing at all is not taken for values: the
// chart's defaults would replace what runs.
func (c *compiled) fillIn(text string, data map[string]any) (map[string]any, error) {
	out, err := c.execute(text, data)
	if syntax := (*sandbox.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, fmt.Errorf("%w; if ${…} is not for Fleet to fill in, set helm.disablePreProcess", err)
	}
	if err != nil {
		return nil, err
	}
	values, err := readValues([]byte(out))
	if err != nil {
		return nil, fmt.Errorf("what the template gives: %w", err)
	}
	if values == nil {
		return nil, errors.New("the template gives no values at all for this cluster")
	}
	return values, nil
}

// addTemplateValues puts what the templates give in the place of the values of the same names.
func (c *compiled) addTemplateValues(values map[string]any, templates map[string]string, data map[string]any) (map[string]any, *fieldError) {
	if len(templates) == 0 {
		return values, nil
	}
	values = maps.Clone(values)
	if values == nil {
		values = make(map[string]any, len(templates))
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		out, err := c.execute(templates[name], data)
		if err == nil {
			values[name], err = readYAML([]byte(out))
		}
		if err != nil {
			return nil, &fieldError{field: "spec.helm.templateValues[" + sandbox.Bounded(name) + "]", err: err}
		}
	}
	return values, nil
}
