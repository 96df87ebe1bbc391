package registration

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// KeyKubeconfigValue is the key of the kubeconfig in a kubeconfig secret. Keys KeyAPIServerURL and KeyAPIServerCA of it
// say how agents reach the hub.
const KeyKubeconfigValue = "value"

// allowedSecretNamespaces may hold kubeconfig secrets of clusters of other workspaces. The local workspace is none of them: what
// lies there opens the hub's own cluster.
var allowedSecretNamespaces = []string{
	names.DefaultWorkspace,
	names.DefaultSystemNamespace, names.LegacySystemNamespace,
	"cattle-fleet-clusters-system", "fleet-clusters-system",
}

// AllowedSecretNamespace says whether a Cluster may name a secret of that namespace: its own, or one of the hub's. Else
// whoever may write a Cluster could have the hub use any secret of it.
func AllowedSecretNamespace(workspace, namespace string) bool {
	return namespace == "" || namespace == workspace || slices.Contains(allowedSecretNamespaces, namespace) || strings.HasPrefix(namespace, "cluster-")
}

// KubeconfigSecretNamespace is where the kubeconfig secret of a Cluster lies.
func KubeconfigSecretNamespace(c *fleet.Cluster) string {
	if c.Spec.KubeConfigSecretNamespace != "" {
		return c.Spec.KubeConfigSecretNamespace
	}
	return c.Namespace
}

// HubCAOf is the CA that the agent of a cluster is given: that of the kubeconfig secret, else the configured one.
func HubCAOf(secret *corev1.Secret, configured []byte) []byte {
	if secret != nil && len(secret.Data[KeyAPIServerCA]) > 0 {
		return secret.Data[KeyAPIServerCA]
	}
	return configured
}
