package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Candidates are the namespaces whose clusters the bundle may target, sorted: its own, and those that a
// BundleNamespaceMapping of its namespace opens to it.
func Candidates(bundle *fleet.Bundle, mappings []*fleet.BundleNamespaceMapping, namespaces []*corev1.Namespace) []string {
	found := map[string]bool{bundle.Namespace: true}
	for _, mapping := range mappings {
		if mapping.Namespace != bundle.Namespace {
			continue
		}
		bundles, others, err := mappingSelectors(mapping)
		if err != nil || !bundles.Matches(labels.Set(bundle.Labels)) {
			continue
		}
		for _, namespace := range namespaces {
			if others.Matches(labels.Set(namespace.Labels)) {
				found[namespace.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Opens says whether the mapping opens a namespace to the bundle.
func Opens(mapping *fleet.BundleNamespaceMapping, bundle *fleet.Bundle, namespace *corev1.Namespace) bool {
	return slices.Contains(Candidates(bundle, []*fleet.BundleNamespaceMapping{mapping}, []*corev1.Namespace{namespace}), namespace.Name)
}

// MappingsProblem says what is wrong with the mappings of the bundle's namespace. While something is, Candidates may know
// too few namespaces, and what lies outside of them is not to be removed.
func MappingsProblem(bundle *fleet.Bundle, mappings []*fleet.BundleNamespaceMapping) error {
	var all []error
	for _, mapping := range mappings {
		if mapping.Namespace != bundle.Namespace {
			continue
		}
		if _, _, err := mappingSelectors(mapping); err != nil {
			all = append(all, fmt.Errorf("BundleNamespaceMapping %s/%s: %w", mapping.Namespace, mapping.Name, err))
		}
	}
	return errors.Join(all...)
}

// mappingSelectors are the selectors of a mapping. One that lacks either selects nothing.
func mappingSelectors(mapping *fleet.BundleNamespaceMapping) (bundles, namespaces labels.Selector, err error) {
	if mapping.BundleSelector == nil || mapping.NamespaceSelector == nil {
		return labels.Nothing(), labels.Nothing(), nil
	}
	if bundles, err = selector("bundleSelector", mapping.BundleSelector); err != nil {
		return nil, nil, err
	}
	namespaces, err = selector("namespaceSelector", mapping.NamespaceSelector)
	return bundles, namespaces, err
}

// selector reads a selector that is there, and names its field if it cannot.
func selector(field string, s *metav1.LabelSelector) (labels.Selector, error) {
	read, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, &fieldError{field: field, err: bounded(err)}
	}
	return read, nil
}
