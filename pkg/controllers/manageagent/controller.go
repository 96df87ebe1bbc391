package manageagent

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/desired"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-manage-agent"

var clusterKind = fleet.SchemeGroupVersion.WithKind("Cluster")

// Deps is what this controller works with.
type Deps struct {
	Clusters fleetv1.ClusterController
	Bundles  fleetv1.BundleController
	Apply    apply.Apply
	Config   *config.Source
	Settings func(config.Config) agentmanifest.Settings
	Clock    clock.PassiveClock
}

// set makes the bundle exist, or takes it away.
type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
	Remove(ctx context.Context, ownerGVK schema.GroupVersionKind, ownerNamespace, ownerName string) error
}

type handler struct {
	Deps
	bundles set
	ctx     context.Context
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{
		Deps: deps, ctx: ctx,
		bundles: desired.New(deps.Apply, desired.Set{
			ID: names.SetManageAgent, Kinds: []apply.InformerGetter{deps.Bundles}, OwnerReferences: true,
		}),
	}
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	kube.Watch(ctx, handlerName+"-bundles", clusterOfBundle, kube.Debounced(deps.Clusters, 0), deps.Bundles)
	deps.Config.Subscribe(handlerName, h.onConfig)
}

// clusterOfBundle brings a Cluster back whose agent bundle was edited or deleted.
func clusterOfBundle(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	bundle, ok := obj.(*fleet.Bundle)
	if !ok {
		return nil, nil
	}
	for _, ref := range bundle.OwnerReferences {
		if ref.Kind == clusterKind.Kind && bundle.Name == names.AgentBundle(ref.Name) {
			return []relatedresource.Key{{Namespace: namespace, Name: ref.Name}}, nil
		}
	}
	return nil, nil
}

// onConfig has every Cluster looked at again: a new image or interval reaches all agents without another trigger.
func (h *handler) onConfig(context.Context, config.Config) error {
	clusters, err := h.Clusters.Cache().List("", labels.Everything())
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for _, c := range clusters {
		h.Clusters.EnqueueAfter(c.Namespace, c.Name, 0)
	}
	return nil
}

func (h *handler) onChange(_ string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	cfg := h.Config.Get()
	want, keep := wanted(cluster, cfg)
	if keep {
		return cluster, nil
	}
	if !want {
		if err := h.bundles.Remove(h.ctx, clusterKind, cluster.Namespace, cluster.Name); err != nil {
			return cluster, fmt.Errorf("removing the agent bundle of cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
		}
		return cluster, nil
	}
	bundle, err := bundleFor(cluster, h.Settings(cfg))
	if err != nil {
		// Bad options are for a person to correct; to try again before that is of no use.
		return cluster, h.report(cluster, metav1.ConditionFalse, "InvalidAgentOptions", err.Error())
	}
	if err := h.bundles.Apply(h.ctx, cluster, bundle); err != nil {
		return cluster, fmt.Errorf("agent bundle of cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	return cluster, h.report(cluster, metav1.ConditionTrue, "", "")
}

// report writes condition Reconciled, but not for its own sake: that all is well needs no write of its own when nothing
// was wrong before.
func (h *handler) report(cluster *fleet.Cluster, value metav1.ConditionStatus, reason, message string) error {
	if value == metav1.ConditionTrue && conditions.GetCondition(cluster.Status.Conditions, fleet.ClusterConditionReconciled) == nil {
		return nil
	}
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionReconciled, value, reason, message, now)
	})
	return err
}
