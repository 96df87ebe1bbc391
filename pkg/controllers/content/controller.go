package content

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

const (
	handlerName = "fleet-content"
	// deploymentsByContent indexes deployments by the Contents that they need.
	deploymentsByContent = "fleet.content.deployments"
	// settle is how long references are gathered before they are counted.
	settle = 5 * time.Second
	// livePage is how many deployments are read at a time.
	livePage = 50
)

// Deps is what this controller works with.
type Deps struct {
	Contents    fleetv1.ContentController
	Deployments fleetv1.BundleDeploymentController
	Clock       clock.PassiveClock
}

type handler struct {
	Deps
	waker *kube.Waker
	// used are the Contents that somebody was seen to need, counted or not.
	used sync.Map
}

func newHandler(deps Deps) *handler {
	enqueue := func(_, name string, d time.Duration) { deps.Contents.EnqueueAfter(name, d) }
	return &handler{Deps: deps, waker: kube.NewWaker(enqueue)}
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := newHandler(deps)
	h.addIndexers()
	deps.Contents.OnChange(ctx, handlerName, h.onChange)
	kube.WatchChanges(ctx, handlerName, h.onDeployment, deps.Deployments)
}

func (h *handler) addIndexers() {
	h.Deployments.Cache().AddIndexer(deploymentsByContent, func(bd *fleet.BundleDeployment) ([]string, error) {
		return needs(bd), nil
	})
}

// needs are the Contents that a deployment needs, none if it is being deleted.
func needs(bd *fleet.BundleDeployment) []string {
	if bd == nil || bd.DeletionTimestamp != nil {
		return nil
	}
	return deployment.Contents(bd)
}

// onDeployment counts anew what a deployment did not need before, or needs no more.
func (h *handler) onDeployment(before, now *fleet.BundleDeployment) {
	changed := map[string]int{}
	for _, name := range needs(before) {
		changed[name]--
	}
	for _, name := range needs(now) {
		changed[name]++
		h.used.Store(name, true)
	}
	for name, difference := range changed {
		if difference != 0 {
			h.waker.Wake("", name, settle)
		}
	}
}

func (h *handler) onChange(name string, c *fleet.Content) (*fleet.Content, error) {
	h.waker.Started()
	if c == nil {
		h.used.Delete(name)
		return nil, nil
	}
	needed, err := h.Deployments.Cache().GetByIndex(deploymentsByContent, name)
	if err != nil {
		return c, fmt.Errorf("content %s: counting its deployments: %w", name, err)
	}
	_, used := h.used.Load(name)
	d := decide(c, len(needed), used, h.Clock.Now())
	if err := h.apply(c, d); err != nil {
		return c, fmt.Errorf("content %s: %w", name, err)
	}
	return c, nil
}

func (h *handler) apply(c *fleet.Content, d decision) error {
	switch {
	case d.release:
		return h.patch(c, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	case d.count != nil:
		return h.patch(c, map[string]any{"status": map[string]any{"referenceCount": *d.count}}, "status")
	case d.remove:
		return h.remove(c)
	case d.lookAgain > 0:
		h.Contents.EnqueueAfter(c.Name, d.lookAgain)
	}
	return nil
}

// patch writes a part of a Content: the whole is not here, the cache leaves out what it holds.
func (h *handler) patch(c *fleet.Content, part any, subresources ...string) error {
	data, err := json.Marshal(part)
	if err != nil {
		return err
	}
	if _, err := h.Contents.Patch(c.Name, types.MergePatchType, data, subresources...); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching it: %w", err)
	}
	return nil
}

// remove deletes a Content if the API server knows of nobody either who was just made to need it. It is asked for the
// version that is staged, which is how each deployment comes to need a Content.
func (h *handler) remove(c *fleet.Content) error {
	needed, err := h.isNeededLive(c.Name)
	if err != nil {
		return fmt.Errorf("listing its deployments: %w", err)
	}
	if needed {
		return nil // the event of who needs it counts it
	}
	if err := kube.Deleted(h.Contents.Delete(c.Name, kube.ByUID(c.UID))); err != nil {
		return fmt.Errorf("deleting it: %w", err)
	}
	return nil
}

// isNeededLive looks through all deployments of a Content until there is one that does not go: any number may be on their
// way out.
func (h *handler) isNeededLive(name string) (bool, error) {
	options := metav1.ListOptions{LabelSelector: labels.Set{fleet.ContentNameLabel: name}.String(), Limit: livePage}
	for {
		list, err := h.Deployments.List("", options)
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				return true, nil
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return false, nil
		}
	}
}
