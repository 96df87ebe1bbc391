package render

import (
	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that a CustomResourceDefinition defines.
type Kind struct {
	Kind       schema.GroupVersionKind
	Resource   schema.GroupVersionResource
	Namespaced bool
}

// IsCRD says whether an object is a CustomResourceDefinition.
func IsCRD(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// Defined are the kinds that an object defines; none if it is no CustomResourceDefinition.
func Defined(object *unstructured.Unstructured) []Kind {
	if !IsCRD(object) {
		return nil
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, fields...)
		return value
	}
	group, kind, plural := text("spec", "group"), text("spec", "names", "kind"), text("spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
	var kinds []Kind
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		served, _ := fields["served"].(bool)
		if !served || name == "" {
			continue
		}
		gv := schema.GroupVersion{Group: group, Version: name}
		kinds = append(kinds, Kind{Kind: gv.WithKind(kind), Resource: gv.WithResource(plural), Namespaced: text("spec", "scope") == "Namespaced"})
	}
	return kinds
}

// ChartCRDs are the definitions in the crds folder of a chart. What cannot be read is left out: it fails when it is
// installed, with a message.
func ChartCRDs(c *chart.Chart) []*unstructured.Unstructured {
	if c == nil {
		return nil
	}
	var found []*unstructured.Unstructured
	for _, crd := range c.CRDObjects() {
		objects, err := Decode(crd.File.Data)
		if err == nil {
			found = append(found, objects...)
		}
	}
	return found
}
