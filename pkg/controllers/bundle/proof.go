package bundle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/target"
)

// current is what the API server says of all that a removal rests on, beside Bundle and Cluster: that there is no such
// mapping, group or label is what a cache says too that is behind.
type current struct {
	mappings     []*fleet.BundleNamespaceMapping
	restrictions []*fleet.GitRepoRestriction
	// namespaces and groups are those of the clusters from which something is to be removed. A namespace that is gone has none.
	namespaces []*corev1.Namespace
	groups     map[string][]*fleet.ClusterGroup
}

// observeLive reads what concerns the namespaces of the clusters from which something is to be removed.
func (h *handler) observeLive(in *input, due []target.Removal) (*current, error) {
	now := &current{groups: map[string][]*fleet.ClusterGroup{}}
	mappings, err := h.Mappings.List(in.bundle.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing BundleNamespaceMappings before deployments are removed: %w", err)
	}
	for i := range mappings.Items {
		now.mappings = append(now.mappings, &mappings.Items[i])
	}
	restrictions, err := h.Restrictions.List(in.bundle.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing GitRepoRestrictions before deployments are removed: %w", err)
	}
	for i := range restrictions.Items {
		now.restrictions = append(now.restrictions, &restrictions.Items[i])
	}
	for _, r := range due {
		if err := h.observeNamespace(now, r.Cluster.Namespace); err != nil {
			return nil, err
		}
	}
	return now, nil
}

func (h *handler) observeNamespace(now *current, name string) error {
	if _, known := now.groups[name]; known {
		return nil
	}
	groups, err := h.Groups.List(name, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the cluster groups of %s before deployments are removed: %w", name, err)
	}
	list := make([]*fleet.ClusterGroup, 0, len(groups.Items))
	for i := range groups.Items {
		list = append(list, &groups.Items[i])
	}
	now.groups[name] = list
	namespace, err := found(h.Namespaces.Get(name, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading namespace %s before deployments are removed: %w", name, err)
	}
	if namespace != nil {
		now.namespaces = append(now.namespaces, namespace)
	}
	return nil
}

// isUnwanted makes the proof anew, for one cluster and its deployment.
func (now *current) isUnwanted(in *input, cluster *fleet.Cluster, bd *fleet.BundleDeployment) bool {
	facts := in.facts
	facts.Clusters, facts.Groups, facts.Restrictions = nil, now.groups[cluster.Namespace], now.restrictions
	var outside []*fleet.Cluster
	if slices.Contains(target.Candidates(in.bundle, now.mappings, now.namespaces), cluster.Namespace) {
		facts.Clusters = []*fleet.Cluster{cluster}
	} else if target.MappingsProblem(in.bundle, now.mappings) == nil {
		outside = []*fleet.Cluster{cluster}
	}
	targets, refusals := target.Find(facts, in.manifest)
	verdict := target.Unwanted(facts, targets, refusals, []*fleet.BundleDeployment{bd}, outside)
	return len(verdict.Remove) == 1
}
