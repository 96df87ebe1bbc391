package bundle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/kube"
)

// sweep is the last look for copies in a cluster's namespace that nobody needs.
type sweep struct {
	at time.Time
	// failed says that copies could not be removed when they were left.
	failed bool
}

// left is a copy that may be one that nobody needs.
type left struct {
	deployment.Copy
	object metav1.Object
	remove func() error
}

// sweepCopies removes copies whose removal failed when the deployment that needed them was changed. Nothing names them any
// more: they are known by their label. Where that did not happen in this process, a cluster's namespace is looked at every
// quarter of an hour, and for Secrets alone: of ConfigMaps there is no cache.
func (h *handler) sweepCopies(in *input) error {
	var errs []error
	for _, p := range in.places {
		if p.deployment == nil {
			continue
		}
		if err := h.sweepPlace(p.namespace); err != nil {
			errs = append(errs, fmt.Errorf("copies in %s that nobody needs: %w", p.namespace, err))
		}
	}
	return bounded(errs)
}

func (h *handler) sweepPlace(namespace string) error {
	known, _ := h.swept.Load(namespace)
	last, _ := known.(sweep)
	began := h.Clock.Now()
	if began.Sub(last.at) < kube.SweepInterval {
		return nil
	}
	copied, err := h.copiedTo(namespace, last.failed)
	if err != nil {
		return err
	}
	cached, err := h.Deployments.Cache().List(namespace, labels.Everything())
	if err != nil {
		return fmt.Errorf("listing its deployments: %w", err)
	}
	for _, bd := range cached {
		copied = unneeded(copied, bd)
	}
	found := len(copied)
	copied = slices.DeleteFunc(copied, func(c left) bool { return h.isYoung(c.object) }) // its deployment may be on its way
	waits := len(copied) < found
	if copied, err = h.provenLeft(namespace, copied); err != nil {
		return err
	}
	for _, c := range copied {
		if err := c.remove(); err != nil {
			return err
		}
	}
	if !waits {
		h.noteSwept(namespace, known, began)
	}
	return nil
}

// noteSwept keeps what was noted meanwhile, which is that there is something to look for again.
func (h *handler) noteSwept(namespace string, known any, at time.Time) {
	if known == nil {
		h.swept.LoadOrStore(namespace, sweep{at: at})
		return
	}
	h.swept.CompareAndSwap(namespace, known, sweep{at: at})
}

// copiedTo are the copies in a cluster's namespace, ConfigMaps among them only if they are asked for.
func (h *handler) copiedTo(namespace string, configMaps bool) ([]left, error) {
	secrets, err := h.Secrets.Cache().GetByIndex(secretCopies, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	var all []left
	for _, s := range secrets {
		if !h.secrets.IsDeleted(s) {
			all = append(all, left{deployment.Copy{Kind: deployment.SecretKind, Name: s.Name}, s, func() error { return h.dropSecret(s) }})
		}
	}
	if !configMaps {
		return all, nil
	}
	list, err := h.ConfigMaps.List(namespace, metav1.ListOptions{LabelSelector: labels.Set{deployment.CopyLabel: "true"}.String()})
	if err != nil {
		return nil, fmt.Errorf("listing ConfigMaps: %w", err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		all = append(all, left{deployment.Copy{Kind: deployment.ConfigMapKind, Name: c.Name}, c, func() error { return h.dropConfigMap(c) }})
	}
	return all, nil
}

// provenLeft leaves out what a deployment needs that the cache does not show.
func (h *handler) provenLeft(namespace string, copied []left) ([]left, error) {
	if len(copied) == 0 {
		return nil, nil
	}
	live, err := h.Deployments.List(namespace, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing its deployments: %w", err)
	}
	for i := range live.Items {
		copied = unneeded(copied, &live.Items[i])
	}
	return copied, nil
}

// unneeded are the copies that a deployment does not need.
func unneeded(copied []left, bd *fleet.BundleDeployment) []left {
	if len(copied) == 0 {
		return nil
	}
	needed := deployment.Copies(bd)
	var others []left
	for _, c := range copied {
		if !needed[c.Copy] {
			others = append(others, c)
		}
	}
	return others
}

func (h *handler) dropConfigMap(c *corev1.ConfigMap) error {
	if err := kube.Deleted(h.ConfigMaps.Delete(c.Namespace, c.Name, kube.ByUID(c.UID))); err != nil {
		return fmt.Errorf("deleting ConfigMap %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}
