package heartbeat

import (
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// clustersBySecret indexes Clusters by their kubeconfig secret.
const clustersBySecret = "fleet.heartbeat.clusters-by-secret"

func secretKeys(c *fleet.Cluster) ([]string, error) {
	if c.Spec.KubeConfigSecret == "" {
		return nil, nil
	}
	return []string{registration.KubeconfigSecretNamespace(c) + "/" + c.Spec.KubeConfigSecret}, nil
}

// kubeconfig is the kubeconfig secret of a cluster, nil where there is none or it may not be used.
func (h *handler) kubeconfig(c *fleet.Cluster) (*corev1.Secret, error) {
	namespace, name := registration.KubeconfigSecretNamespace(c), c.Spec.KubeConfigSecret
	if name == "" || !registration.AllowedSecretNamespace(c.Namespace, namespace) {
		return nil, nil
	}
	secret, err := h.Secrets.Cache().Get(namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret %s/%s: %w", namespace, name, err)
	}
	return secret, nil
}

// basisOf is what the ends of a cluster's kubeconfig and CA follow from, in a form that can be compared.
func basisOf(secret *corev1.Secret, hubCA []byte) string {
	basis := registration.Digest(string(hubCA))
	if secret != nil {
		basis += "/" + string(secret.UID) + "/" + secret.ResourceVersion
	}
	return basis
}

// leasesOfSecret has the clusters of a kubeconfig secret looked at when it changes.
func (h *handler) leasesOfSecret(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersBySecret, namespace+"/"+name)
	if err != nil {
		return nil, fmt.Errorf("looking for the clusters of secret %s/%s: %w", namespace, name, err)
	}
	var keys []relatedresource.Key
	for _, c := range clusters {
		if c.Status.Namespace != "" {
			keys = append(keys, relatedresource.NewKey(c.Status.Namespace, names.HeartbeatLease))
		}
	}
	return keys, nil
}

// lifeOf is how long the agent's credential is good.
func lifeOf(record *fleet.CredentialRecord) (life registration.Life) {
	if record.Expires == nil {
		return life
	}
	life.Until = record.Expires.Time
	if record.Issued != nil {
		life.From = record.Issued.Time
	}
	return life
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
