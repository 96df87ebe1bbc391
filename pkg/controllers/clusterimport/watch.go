package clusterimport

import (
	"context"
	"fmt"
	"strings"

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
	clusters, err := h.Clusters.Cache().GetByIndex(clustersBySecret, namespace+"/"+name)
	keys := make([]relatedresource.Key, 0, len(clusters)+1)
	for _, c := range clusters {
		keys = append(keys, relatedresource.NewKey(c.Namespace, c.Name))
	}
	if secret, ok := obj.(*corev1.Secret); ok && secret.Type == names.ValuesSecretType && strings.HasPrefix(name, importPrefix) {
		token, tokenErr := h.Tokens.Cache().Get(namespace, name)
		if tokenErr == nil {
			more, _ := clusterOfToken(namespace, name, token)
			keys = append(keys, more...)
		}
	}
	return keys, err
}

const importPrefix = "import-token-"

func clusterOfToken(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	token, ok := obj.(*fleet.ClusterRegistrationToken)
	if !ok || !strings.HasPrefix(name, importPrefix) {
		return nil, nil
	}
	for _, ref := range token.OwnerReferences {
		if ref.Kind == "Cluster" {
			return []relatedresource.Key{{Namespace: namespace, Name: ref.Name}}, nil
		}
	}
	return nil, nil
}

// clusterOfAccount finds the cluster that an import account is for: when the account goes before the agent registered,
// the agent needs another.
func (h *handler) clusterOfAccount(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok || namespace != h.Names.Registration {
		return nil, nil
	}
	owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation])
	if !ok || !strings.HasPrefix(owner.Name, importPrefix) {
		return nil, nil
	}
	token, err := h.Tokens.Cache().Get(owner.Namespace, owner.Name)
	if err != nil {
		return nil, nil //nolint:nilerr // a token that is gone is found by its own event
	}
	return clusterOfToken(owner.Namespace, owner.Name, token)
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
