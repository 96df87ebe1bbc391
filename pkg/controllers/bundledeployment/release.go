package bundledeployment

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// release takes away what belongs to a deployment that is being deleted, and lets it go.
func (h *handler) release(bd *fleet.BundleDeployment) error {
	if !slices.Contains(bd.Finalizers, names.BundleDeploymentFinalizer) {
		return nil
	}
	if err := h.dropValues(bd); err != nil {
		return err
	}
	if err := h.dropCopies(bd); err != nil {
		return err
	}
	updated := bd.DeepCopy()
	updated.Finalizers = slices.DeleteFunc(updated.Finalizers, func(f string) bool { return f == names.BundleDeploymentFinalizer })
	// A conflict is somebody else's write, whose event brings it back.
	if _, err := h.Deployments.Update(updated); gone(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("dropping the finalizer: %w", err)
	}
	return nil
}

// dropValues deletes the Secret with the values. Where the deployment names none, the cache is good enough to say so.
func (h *handler) dropValues(bd *fleet.BundleDeployment) error {
	secret, err := found(h.Secrets.Cache().Get(bd.Namespace, bd.Name))
	if err == nil && secret == nil && bd.Spec.ValuesHash != "" {
		secret, err = found(h.Secrets.Get(bd.Namespace, bd.Name, metav1.GetOptions{}))
	}
	if err != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", bd.Namespace, bd.Name, err)
	}
	if secret == nil || !deployment.HoldsValues(secret) {
		return nil
	}
	return h.dropSecret(secret)
}

func (h *handler) dropSecret(secret *corev1.Secret) error {
	if err := kube.Deleted(h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))); err != nil {
		return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// dropCopies deletes the copies that no other deployment of the cluster needs. Which others there are is said by the API
// server: one that was just made may find its copies there, and rest on them.
func (h *handler) dropCopies(bd *fleet.BundleDeployment) error {
	if len(deployment.Copies(bd)) == 0 {
		return nil
	}
	live, err := h.Deployments.List(bd.Namespace, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the deployments of %s: %w", bd.Namespace, err)
	}
	others := slices.DeleteFunc(live.Items, func(other fleet.BundleDeployment) bool {
		return other.UID == bd.UID || other.DeletionTimestamp != nil
	})
	for c := range deployment.CopiesLeft(bd, others) {
		if err := h.dropCopy(bd.Namespace, c); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) dropCopy(namespace string, c deployment.Copy) error {
	switch c.Kind {
	case deployment.SecretKind:
		secret, err := found(h.Secrets.Get(namespace, c.Name, metav1.GetOptions{}))
		if err != nil {
			return fmt.Errorf("reading Secret %s/%s: %w", namespace, c.Name, err)
		}
		if secret == nil || !deployment.IsCopy(secret) {
			return nil
		}
		return h.dropSecret(secret)
	case deployment.ConfigMapKind:
		have, err := found(h.ConfigMaps.Get(namespace, c.Name, metav1.GetOptions{}))
		if err != nil {
			return fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, c.Name, err)
		}
		if have == nil || !deployment.IsCopy(have) {
			return nil
		}
		if err := kube.Deleted(h.ConfigMaps.Delete(namespace, c.Name, kube.ByUID(have.UID))); err != nil {
			return fmt.Errorf("deleting ConfigMap %s/%s: %w", namespace, c.Name, err)
		}
	}
	return nil
}
