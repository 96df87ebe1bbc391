package bundle

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// deploymentsByBundle indexes deployments by the bundle that they are of, deploymentsByContent by the Contents that
	// they need.
	deploymentsByBundle  = "fleet.bundle.deployments"
	deploymentsByContent = "fleet.bundle.contents"
	// bundlesByChoice indexes bundles by the clusters that they may choose, see choices, and bundlesByCopy by the objects
	// that they copy to clusters.
	bundlesByChoice = "fleet.bundle.choices"
	bundlesByCopy   = "fleet.bundle.copies"
	// secretCopies indexes the Secrets that were copied to clusters by their namespace.
	secretCopies = "fleet.bundle.secretcopies"
	// clustersByName indexes Clusters by the two names that a target may call them.
	clustersByName = "fleet.bundle.clusters"
	// clustersByAgentBundle indexes Clusters by the name of their agents' bundles.
	clustersByAgentBundle = "fleet.bundle.agents"
	// clustersByKubeconfig indexes Clusters by the Secret that spec.kubeConfigSecret names.
	clustersByKubeconfig = "fleet.bundle.kubeconfigs"
)

func (h *handler) addIndexers() {
	h.Deployments.Cache().AddIndexer(deploymentsByBundle, func(bd *fleet.BundleDeployment) ([]string, error) {
		namespace, name := bundleOf(bd)
		if namespace == "" {
			return nil, nil
		}
		return []string{namespace + "/" + name}, nil
	})
	h.Deployments.Cache().AddIndexer(deploymentsByContent, func(bd *fleet.BundleDeployment) ([]string, error) {
		return deployment.Contents(bd), nil
	})
	h.Bundles.Cache().AddIndexer(bundlesByChoice, func(b *fleet.Bundle) ([]string, error) { return choices(b), nil })
	h.Bundles.Cache().AddIndexer(bundlesByCopy, func(b *fleet.Bundle) ([]string, error) { return copyKeys(b), nil })
	h.Secrets.Cache().AddIndexer(secretCopies, func(s *corev1.Secret) ([]string, error) {
		if !deployment.IsCopy(s) {
			return nil, nil
		}
		return []string{s.Namespace}, nil
	})
	h.Clusters.Cache().AddIndexer(clustersByName, func(c *fleet.Cluster) ([]string, error) { return clusterNames(c), nil })
	h.Clusters.Cache().AddIndexer(clustersByAgentBundle, func(c *fleet.Cluster) ([]string, error) {
		return []string{c.Namespace + "/" + names.AgentBundle(c.Name)}, nil
	})
	h.Clusters.Cache().AddIndexer(clustersByKubeconfig, func(c *fleet.Cluster) ([]string, error) {
		if c.Spec.KubeConfigSecret == "" {
			return nil, nil
		}
		return []string{registration.KubeconfigSecretNamespace(c) + "/" + c.Spec.KubeConfigSecret}, nil
	})
}

// bundleOf is the bundle of a deployment, which has its name.
func bundleOf(bd *fleet.BundleDeployment) (namespace, name string) {
	return bd.Labels[fleet.BundleNamespaceLabel], bd.Name
}

const (
	anyCluster = "/any"
	byGroup    = "/group"
	byName     = "/name/"
)

// choices are the clusters that a bundle may choose, as values of an index that have the bundle's namespace in front: those
// it calls by name, or any. One whose targets all name a cluster has nothing to do with the others: there is such a one
// for the agent of each cluster.
func choices(b *fleet.Bundle) []string {
	seen := map[string]bool{}
	var keys []string
	add := func(key string) {
		if !seen[key] {
			seen[key] = true
			keys = append(keys, b.Namespace+key)
		}
	}
	for i := range b.Spec.Targets {
		t := &b.Spec.Targets[i]
		if t.ClusterName != "" {
			add(byName + t.ClusterName)
		} else {
			add(anyCluster)
		}
		if t.ClusterGroup != "" || t.ClusterGroupSelector != nil {
			add(byGroup)
		}
	}
	for i := range b.Spec.TargetRestrictions {
		if r := &b.Spec.TargetRestrictions[i]; r.ClusterGroup != "" || r.ClusterGroupSelector != nil {
			add(byGroup)
		}
	}
	if rollout := b.Spec.RolloutStrategy; rollout != nil {
		for i := range rollout.Partitions {
			if p := &rollout.Partitions[i]; p.ClusterGroup != "" || p.ClusterGroupSelector != nil {
				add(byGroup)
			}
		}
	}
	return keys
}

// namedClusters are the names of the clusters that a bundle may choose; all says that it may choose any.
func namedClusters(b *fleet.Bundle) (list []string, all bool) {
	for _, key := range choices(b) {
		switch choice := strings.TrimPrefix(key, b.Namespace); {
		case choice == anyCluster:
			return nil, true
		case strings.HasPrefix(choice, byName):
			list = append(list, strings.TrimPrefix(choice, byName))
		}
	}
	return list, false
}

// clusterNames are the names that a target may call a cluster.
func clusterNames(c *fleet.Cluster) []string {
	keys := []string{c.Namespace + byName + c.Name}
	if display := c.Labels[names.DisplayNameLabel]; display != "" && display != c.Name {
		keys = append(keys, c.Namespace+byName+display)
	}
	return keys
}
