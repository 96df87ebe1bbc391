package bundle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/kube"
)

// valuesOf is the Secret with the values of a deployment. Where the cache's does not have the digest that the deployment
// names, it is read live: the cache may be behind, and nothing must rest on that.
func (h *handler) valuesOf(namespace, name string, bd *fleet.BundleDeployment) (*corev1.Secret, error) {
	secret, err := h.knownSecret(namespace, name)
	if err != nil {
		return nil, err
	}
	if bd == nil || bd.Spec.ValuesHash == "" || secret != nil && deployment.ValuesIn(secret).Hash() == bd.Spec.ValuesHash {
		return ours(secret), nil
	}
	secret, err = found(h.Secrets.Get(namespace, name, metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	return ours(secret), nil
}

// knownSecret is a Secret as the cache has it, or as it was written here since. What was written is forgotten once the cache
// shows it: so the cache is asked last.
func (h *handler) knownSecret(namespace, name string) (*corev1.Secret, error) {
	written, _ := h.secrets.Find(namespace, name)
	secret, err := found(h.Secrets.Cache().Get(namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	if secret == nil || h.secrets.IsBehind(secret) {
		return written, nil
	}
	return secret, nil
}

// ours leaves out a Secret that only happens to have the name, and one that was copied there under it.
func ours(secret *corev1.Secret) *corev1.Secret {
	if secret == nil || !deployment.HoldsValues(secret) {
		return nil
	}
	return secret
}

// writeSecret brings the Secret of a deployment to what it should be. have is nil where none is known.
func (h *handler) writeSecret(have, want *corev1.Secret) error {
	var err error
	for range writeTries {
		var written *corev1.Secret
		switch {
		case have == nil:
			written, err = h.Secrets.Create(want)
		case deployment.IsCopy(have):
			return fmt.Errorf("Secret %s/%s is a copy that the downstreamResources of a bundle name, and the values of this one belong there: "+
				"give the Secret that is copied another name, or the bundle", have.Namespace, have.Name)
		case have.Type != want.Type:
			return fmt.Errorf("Secret %s/%s has type %q and is somebody else's: remove it, or give the bundle another name", have.Namespace, have.Name, have.Type)
		case deployment.SameSecret(have, want):
			return nil
		default:
			updated := have.DeepCopy()
			updated.Labels, updated.Data = merged(have.Labels, want.Labels), want.Data
			updated.Annotations = merged(have.Annotations, want.Annotations)
			written, err = h.Secrets.Update(updated)
		}
		if err == nil {
			h.secrets.Created(written)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) && (have == nil || !apierrors.IsNotFound(err)) {
			break
		}
		var read error
		if have, read = found(h.Secrets.Get(want.Namespace, want.Name, metav1.GetOptions{})); read != nil {
			return fmt.Errorf("reading Secret %s/%s: %w", want.Namespace, want.Name, read)
		}
	}
	return fmt.Errorf("writing Secret %s/%s: %w", want.Namespace, want.Name, err)
}

// dropSecret removes the Secret of a deployment that has no values any more.
func (h *handler) dropSecret(secret *corev1.Secret) error {
	if err := kube.Deleted(h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))); err != nil {
		return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	h.secrets.Deleted(secret.UID)
	return nil
}

func merged(have, want map[string]string) map[string]string {
	all := make(map[string]string, len(have)+len(want))
	for key, value := range have {
		all[key] = value
	}
	for key, value := range want {
		all[key] = value
	}
	return all
}
