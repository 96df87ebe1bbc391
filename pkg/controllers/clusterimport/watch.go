package clusterimport

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// clustersOfSecret finds the clusters that a kubeconfig secret is for, and the one whose token's values it holds.
func (h *handler) clustersOfSecret(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	keys, err := keysOf(h.Clusters.Cache().GetByIndex(clustersBySecret, namespace+"/"+name))
	if secret, ok := obj.(*corev1.Secret); err != nil || !ok || secret.Type != names.ValuesSecretType {
		return keys, err
	}
	more, err := h.clustersOfToken(namespace, name, obj)
	return append(keys, more...), err
}

// clustersOfToken finds the cluster that the hub's own token is for, by its name: the token may be gone.
func (h *handler) clustersOfToken(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	return keysOf(h.Clusters.Cache().GetByIndex(clustersByToken, namespace+"/"+name))
}

// clusterOfAccount finds the cluster that an import account is for: when the account goes before the agent registered,
// the agent needs another. Its token goes first.
func (h *handler) clusterOfAccount(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok || namespace != h.Names.Registration {
		return nil, nil
	}
	owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation])
	if !ok || owner.Kind != tokenKind {
		return nil, nil
	}
	return h.clustersOfToken(owner.Namespace, owner.Name, nil)
}

// tokenKind is the kind of the owner of an import account.
const tokenKind = "ClusterRegistrationToken"

func keysOf(clusters []*fleet.Cluster, err error) ([]relatedresource.Key, error) {
	keys := make([]relatedresource.Key, 0, len(clusters))
	for _, c := range clusters {
		keys = append(keys, relatedresource.NewKey(c.Namespace, c.Name))
	}
	return keys, err
}

// onConfig has every cluster looked at again. Whether anything is to be done is decided for each on its own.
func (h *handler) onConfig(context.Context, config.Config) error {
	clusters, err := h.Clusters.Cache().List("", labels.Everything())
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for _, c := range clusters {
		if c.Spec.KubeConfigSecret != "" {
			h.Clusters.EnqueueAfter(c.Namespace, c.Name, 0)
		}
	}
	return nil
}
