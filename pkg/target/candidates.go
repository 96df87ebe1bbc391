package target

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Candidates are the namespaces whose clusters the bundle may target, sorted: its own, and those that a
// BundleNamespaceMapping of its namespace opens to it.
func Candidates(bundle *fleet.Bundle, mappings []*fleet.BundleNamespaceMapping, namespaces []*corev1.Namespace) []string {
	return []string{bundle.Namespace}
}

// MappingsProblem says what is wrong with the mappings of the bundle's namespace. While something is, Candidates may know
// too few namespaces, and what lies outside of them is not to be removed.
func MappingsProblem(bundle *fleet.Bundle, mappings []*fleet.BundleNamespaceMapping) error {
	return nil
}
