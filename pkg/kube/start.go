package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// syncReport is how often a start that waits for its caches says so.
const syncReport = 15 * time.Second

// Start fills the caches and starts the controllers; it returns when they run. First it lists one object of every kind
// that is to be cached: an informer of a kind that is not served, or may not be listed, would wait for ever without a
// word.
func (h *Hub) Start(ctx context.Context) error {
	if err := h.checkServed(ctx); err != nil {
		return err
	}
	if err := h.caches.Start(ctx); err != nil {
		return fmt.Errorf("starting the caches: %w", err)
	}
	if err := h.waitSynced(ctx); err != nil {
		return err
	}
	if err := h.Controllers.Start(ctx, h.options.Workers); err != nil {
		return fmt.Errorf("starting the controllers: %w", err)
	}
	return nil
}

// checkServed names every kind that is missing, not only the first.
func (h *Hub) checkServed(ctx context.Context) error {
	var missing []error
	for _, kind := range h.caches.all() {
		err := h.listOne(ctx, kind)
		switch {
		case err == nil:
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			missing = append(missing, unservedError(kind, err))
		default:
			return fmt.Errorf("listing %s before the start: %w", kind.gvr, err)
		}
	}
	return errors.Join(missing...)
}

// listOne asks exactly as the informer will, for one object.
func (h *Hub) listOne(ctx context.Context, kind cached) error {
	factory := h.caches.SharedClientFactory()
	_, list, err := factory.NewObjects(kind.gvk)
	if err != nil {
		return err
	}
	options := metav1.ListOptions{Limit: 1}
	if tweak := h.caches.options.KindTweakList[kind.gvk]; tweak != nil {
		tweak(&options)
	}
	namespace := h.caches.options.KindNamespace[kind.gvk]
	return factory.ForResourceKind(kind.gvr, kind.gvk.Kind, kind.namespaced).List(ctx, namespace, list, options)
}

func unservedError(kind cached, err error) error {
	name := kind.gvr.GroupResource()
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("kind %s: this account may not list %s, its role (charts/fleet) has to allow get, list and watch: %w", kind.gvk.Kind, name, err)
	case kind.gvk.Group == fleet.SchemeGroupVersion.Group:
		return fmt.Errorf("kind %s: %s in version %s is not served, install charts/fleet-crd first: %w", kind.gvk.Kind, name, kind.gvk.Version, err)
	default:
		return fmt.Errorf("kind %s: %s in version %s is not served by this API server: %w", kind.gvk.Kind, name, kind.gvk.Version, err)
	}
}

// waitSynced says which kinds are waited for while it waits.
func (h *Hub) waitSynced(ctx context.Context) error {
	synced := make(chan bool, 1)
	go func() { synced <- h.caches.wait(ctx) }()
	ticker := time.NewTicker(syncReport)
	defer ticker.Stop()
	for {
		select {
		case ok := <-synced:
			if !ok {
				return fmt.Errorf("stopped while the caches were filled: %w", ctx.Err())
			}
			return nil
		case <-ticker.C:
			logrus.Warnf("Still waiting for the first list of: %s", strings.Join(h.caches.unsynced(), ", "))
		}
	}
}
