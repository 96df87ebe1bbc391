package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// lookAgain is how often a leaving bundle is looked at beside the events of its deployments.
const lookAgain = 15 * time.Second

// errNotGone says that a bundle has to wait for its deployments.
var errNotGone = errors.New("its deployments are being removed")

// leave removes a bundle from all clusters, then lets it go.
func (h *handler) leave(bundle *fleet.Bundle) error {
	if !slices.Contains(bundle.Finalizers, names.BundleFinalizer) {
		return nil
	}
	err := h.removeAll(bundle.Namespace, bundle.Name, false)
	if errors.Is(err, errNotGone) {
		h.Bundles.EnqueueAfter(bundle.Namespace, bundle.Name, lookAgain)
		return h.writeStatus(bundle, func(status *fleet.BundleStatus) {
			h.setReady(status, metav1.ConditionFalse, "Leaving", err.Error())
		})
	}
	if err != nil {
		return err
	}
	if err := h.dropValues(bundle); err != nil {
		return err
	}
	updated := bundle.DeepCopy()
	updated.Finalizers = slices.DeleteFunc(updated.Finalizers, func(f string) bool { return f == names.BundleFinalizer })
	if _, err := h.Bundles.Update(updated); gone(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("dropping the finalizer: %w", err)
	}
	return nil
}

// removeAll deletes the deployments of a bundle that go with it. That there are none is said by the API server, not by the
// cache.
func (h *handler) removeAll(namespace, name string, unseen bool) error {
	existing, err := h.existing(namespace, name)
	if err != nil {
		return err
	}
	if len(existing) == 0 {
		list, err := h.Deployments.List("", metav1.ListOptions{LabelSelector: labels.Set{
			fleet.BundleLabel: names.LabelValue(name), fleet.BundleNamespaceLabel: namespace,
		}.String()})
		if err != nil {
			return fmt.Errorf("listing the deployments: %w", err)
		}
		for i := range list.Items {
			if list.Items[i].Name == name {
				existing = append(existing, &list.Items[i])
			}
		}
	}
	if existing, err = h.toRemove(namespace, name, existing, unseen); err != nil || len(existing) == 0 {
		return err
	}
	err = h.each(len(existing), func(i int) error {
		if bd := existing[i]; !h.isLeaving(bd) {
			return h.deleteDeployment(bd)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errNotGone
}

// dropValues deletes the Secret with the values of a bundle.
func (h *handler) dropValues(bundle *fleet.Bundle) error {
	secret, err := found(h.Secrets.Cache().Get(bundle.Namespace, bundle.Name))
	if err != nil || secret == nil || secret.Type != fleet.SecretTypeBundleValues {
		return err
	}
	if err := kube.Deleted(h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))); err != nil {
		return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// bury removes what a bundle left behind that is gone: one that lost its finalizer, while no hub was there to see it.
func (h *handler) bury(key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	h.sizes.Delete(key)
	h.reported.Delete(key)
	h.behind.Delete(key)
	existing, err := h.existing(namespace, name)
	if err != nil {
		return err
	}
	if len(existing) == 0 {
		h.seen(key)
		return nil
	}
	if h.isKept(key) || h.mayComeBack(namespace, name) {
		return nil
	}
	live, err := found(h.Bundles.Get(namespace, name, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading bundle %s: %w", key, err)
	}
	if live != nil {
		return nil // it is there again
	}
	if err := h.removeAll(namespace, name, true); !errors.Is(err, errNotGone) {
		return err
	}
	return nil
}

// mayComeBack says whether a bundle is not missing for long enough yet, and has it looked at again when it is.
func (h *handler) mayComeBack(namespace, name string) bool {
	now := h.Clock.Now()
	known, _ := h.missing.LoadOrStore(namespace+"/"+name, now)
	since, ok := known.(time.Time)
	left := missingFor - now.Sub(since)
	if !ok || left <= 0 {
		return false
	}
	h.Bundles.EnqueueAfter(namespace, name, left)
	return true
}

// seen notes that nothing is known to be left behind of a bundle that is gone.
func (h *handler) seen(key string) {
	h.missing.Delete(key)
	h.kept.Delete(key)
}
