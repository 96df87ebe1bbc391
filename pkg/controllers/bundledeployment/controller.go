package bundledeployment

import (
	"context"
	"fmt"
	"sync"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/summary"
)

const handlerName = "fleet-bundledeployment"

// quiet is how long reports of an agent are gathered before they are put into words: an agent of ours writes the words
// itself, and others write several times within a moment.
const quiet = time.Second

// Deps is what this controller works with.
type Deps struct {
	Deployments fleetv1.BundleDeploymentController
	Secrets     core.SecretController
	ConfigMaps  core.ConfigMapClient
	Clock       clock.PassiveClock
}

type handler struct {
	Deps
	// due is when the words of a deployment are written, by its UID.
	due sync.Map
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{Deps: deps}
	deps.Deployments.OnChange(ctx, handlerName, h.onChange)
	kube.WatchChanges(ctx, handlerName, func(before, now *fleet.BundleDeployment) {
		if now == nil {
			h.due.Delete(before.UID)
		}
	}, deps.Deployments)
}

func (h *handler) onChange(key string, bd *fleet.BundleDeployment) (*fleet.BundleDeployment, error) {
	if bd == nil {
		return nil, nil
	}
	if bd.DeletionTimestamp != nil {
		if err := h.release(bd); err != nil {
			return bd, fmt.Errorf("deleting BundleDeployment %s: %w", key, err)
		}
		return bd, nil
	}
	return bd, h.display(bd)
}

// display writes the words that follow from the rest of the object, once it is quiet. Before its agent has said anything
// there are none: that would be a write more for each deployment, and its bundle says the same for all of them.
func (h *handler) display(bd *fleet.BundleDeployment) error {
	if !heard(bd) || bd.Status.Display == summary.Display(bd) {
		h.due.Delete(bd.UID)
		return nil
	}
	if left := h.wait(bd.UID); left > 0 {
		h.Deployments.EnqueueAfter(bd.Namespace, bd.Name, left)
		return nil
	}
	whole := func(bd *fleet.BundleDeployment) *fleet.BundleDeployment { return bd }
	_, err := kube.UpdateStatus(h.Deployments, bd.Namespace, bd.Name, whole, func(latest *fleet.BundleDeployment) {
		latest.Status.Display = summary.Display(latest)
	})
	if err == nil {
		h.due.Delete(bd.UID)
	}
	return err
}

// heard says whether an agent has reported.
func heard(bd *fleet.BundleDeployment) bool {
	return bd.Status.AppliedDeploymentID != "" || len(bd.Status.Conditions) > 0
}

// wait is how long the words of a deployment have to wait yet, from when they were first seen to be wrong.
func (h *handler) wait(uid types.UID) time.Duration {
	now := h.Clock.Now()
	first, _ := h.due.LoadOrStore(uid, now)
	since, ok := first.(time.Time)
	if !ok {
		return 0
	}
	return quiet - now.Sub(since)
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}
