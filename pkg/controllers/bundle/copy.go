package bundle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
)

// writeCopies brings the copies in a cluster's namespace to what they should be.
func (h *handler) writeCopies(p *place) error {
	if !p.copies.due {
		return nil
	}
	for _, obj := range p.copies.objects {
		var err error
		switch want := obj.(type) {
		case *corev1.Secret:
			err = h.writeSecretCopy(want)
		case *corev1.ConfigMap:
			err = h.writeConfigMapCopy(want)
		}
		if err != nil {
			return err
		}
	}
	p.copies.due = false
	return nil
}

func (h *handler) writeSecretCopy(want *corev1.Secret) error {
	have, err := h.knownSecret(want.Namespace, want.Name)
	for try := 0; err == nil && try < writeTries; try++ {
		if have != nil {
			if err := h.mayBeCopied(have, want, deployment.SecretKind); err != nil {
				return err
			}
		}
		var written *corev1.Secret
		switch {
		case have == nil:
			written, err = h.Secrets.Create(want)
		case sameCopy(have, want):
			return nil
		case have.Type != want.Type: // which cannot be changed
			err = h.dropSecret(have)
			have = nil
			continue
		default:
			updated := have.DeepCopy()
			updated.Labels, updated.Annotations, updated.Data = want.Labels, want.Annotations, want.Data
			written, err = h.Secrets.Update(updated)
		}
		if err == nil {
			h.secrets.Created(written)
			return nil
		}
		if isOutdated(err) {
			have, err = found(h.Secrets.Get(want.Namespace, want.Name, metav1.GetOptions{}))
		}
	}
	return fmt.Errorf("copying Secret %s/%s: %w", want.Namespace, want.Name, err)
}

func (h *handler) writeConfigMapCopy(want *corev1.ConfigMap) error {
	have, err := found(h.ConfigMaps.Get(want.Namespace, want.Name, metav1.GetOptions{}))
	for try := 0; err == nil && try < writeTries; try++ {
		if have == nil {
			_, err = h.ConfigMaps.Create(want)
		} else {
			if err := h.mayBeCopied(have, want, deployment.ConfigMapKind); err != nil {
				return err
			}
			if sameConfigMap(have, want) {
				return nil
			}
			updated := have.DeepCopy()
			updated.Labels, updated.Annotations, updated.Data, updated.BinaryData = want.Labels, want.Annotations, want.Data, want.BinaryData
			_, err = h.ConfigMaps.Update(updated)
		}
		if err == nil {
			return nil
		}
		if isOutdated(err) {
			have, err = found(h.ConfigMaps.Get(want.Namespace, want.Name, metav1.GetOptions{}))
		}
	}
	return fmt.Errorf("copying ConfigMap %s/%s: %w", want.Namespace, want.Name, err)
}

func sameConfigMap(have, want *corev1.ConfigMap) bool {
	return equality.Semantic.DeepEqual(have.Data, want.Data) && equality.Semantic.DeepEqual(have.BinaryData, want.BinaryData) &&
		equality.Semantic.DeepEqual(have.Labels, want.Labels) && equality.Semantic.DeepEqual(have.Annotations, want.Annotations)
}

// isOutdated says that an object is not as it was believed to be: it is there, it is gone, or it was changed.
func isOutdated(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// dropCopies deletes the copies that a deployment needed and now, as all others of its cluster, does not. Which others there
// are is said by the API server: one that was just made may find its copies there, and rest on them.
func (h *handler) dropCopies(before, now *fleet.BundleDeployment) error {
	if before == nil || len(deployment.CopiesLeft(before, []fleet.BundleDeployment{*now})) == 0 {
		return nil
	}
	live, err := h.Deployments.List(now.Namespace, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the deployments of %s: %w", now.Namespace, err)
	}
	for c := range deployment.CopiesLeft(before, append(live.Items, *now)) {
		if err := h.dropCopy(now.Namespace, c); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) dropCopy(namespace string, c deployment.Copy) error {
	switch c.Kind {
	case deployment.SecretKind:
		secret, err := h.knownSecret(namespace, c.Name)
		if err != nil || secret == nil || !deployment.IsCopy(secret) {
			return err
		}
		return h.dropSecret(secret)
	case deployment.ConfigMapKind:
		have, err := found(h.ConfigMaps.Get(namespace, c.Name, metav1.GetOptions{}))
		if err != nil || have == nil || !deployment.IsCopy(have) {
			return err
		}
		return h.dropConfigMap(have)
	}
	return nil
}
