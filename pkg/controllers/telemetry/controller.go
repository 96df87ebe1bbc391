package telemetry

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// Deps is what this controller works with.
type Deps struct {
	Clusters, Registrations, Tokens, Leases kube.Watched
	Bundles, Deployments                    kube.Watched
	// Clients write the Events about decisions, Events takes all others.
	Clients kubernetes.Interface
	Events  record.EventRecorder
	// Component names the hub in Events.
	Component string
	Metrics   *Metrics
	Clock     clock.PassiveClock
}

type observer struct {
	Deps
	ledger *ledger
	watch  *stopwatch
	// rollouts and applies time bundles by their generation, and deployments by their version.
	rollouts *timer[int64]
	applies  *timer[string]
}

// Register looks at the informers behind deps until ctx ends. The returned function writes the Events about decisions
// until its context ends.
func Register(ctx context.Context, deps Deps) (func(context.Context), error) {
	o := &observer{
		Deps: deps, watch: newStopwatch(deps.Clock), rollouts: newTimer[int64](deps.Clock), applies: newTimer[string](deps.Clock),
	}
	o.ledger = newLedger(deps.Clients, deps.Component, deps.Clock, o.find, deps.Metrics.EventDropped)
	follow(ctx, deps.Clusters, o.onCluster)
	follow(ctx, deps.Registrations, o.onRequest)
	follow(ctx, deps.Tokens, o.onToken)
	follow(ctx, deps.Leases, o.onLease)
	follow(ctx, deps.Bundles, o.onBundle)
	follow(ctx, deps.Deployments, o.onDeployment)
	deps.Metrics.register(&collector{
		clusters: deps.Clusters, requests: deps.Registrations, tokens: deps.Tokens, bundles: deps.Bundles, deployments: deps.Deployments,
		clock: deps.Clock,
	})
	context.AfterFunc(ctx, deps.Metrics.Close)
	return o.ledger.queue.Run, deps.Metrics.err
}

// What stood there when the hub started is no news, but for a decision that no hub may have told.

func (o *observer) onCluster(before, after *fleet.Cluster, first bool) {
	if !first {
		o.announce(clusterNews(before, after))
	}
}

func (o *observer) onRequest(before, after *fleet.ClusterRegistration, first bool) {
	o.Metrics.measure(o.watch.observe(before, after, first))
	if first {
		o.announce(told(recentApproval(after, o.Clock.Now())))
		return
	}
	o.announce(requestNews(before, after))
}

func (o *observer) onToken(before, after *fleet.ClusterRegistrationToken, first bool) {
	if !first {
		o.announce(tokenNews(before, after, o.Clock.Now()))
	}
}

func (o *observer) onBundle(before, after *fleet.Bundle, first bool) {
	if took, ok := timeBundle(o.rollouts, before, after, first); ok {
		o.Metrics.rolloutDuration.Observe(took.Seconds())
	}
	if !first {
		o.announce(bundleNews(before, after))
	}
}

func (o *observer) onDeployment(before, after *fleet.BundleDeployment, first bool) {
	if took, ok := timeDeployment(o.applies, before, after, first); ok {
		o.Metrics.applyDuration.Observe(took.Seconds())
	}
	if !first {
		o.announce(deploymentNews(before, after))
	}
}

func (o *observer) onLease(before, after *coordinationv1.Lease, _ bool) {
	if isHeartbeat(before, after) {
		o.Metrics.heartbeats.Inc()
	}
}

// isHeartbeat says whether a change is a renewal of an agent's Lease, which the hub made for a Cluster.
func isHeartbeat(before, after *coordinationv1.Lease) bool {
	if before == nil || after == nil || after.Name != names.HeartbeatLease || after.Annotations[names.ClusterAnnotation] == "" {
		return false
	}
	return after.Spec.RenewTime != nil && !after.Spec.RenewTime.Equal(before.Spec.RenewTime)
}

func (o *observer) announce(all []announcement) {
	for _, a := range all {
		if a.count.of != "" {
			o.Metrics.count(a.count)
		}
		switch {
		case a.event.reason == "":
		case a.event.name != "":
			o.ledger.add(a.event)
		default:
			o.record(a.event)
		}
	}
}

func (o *observer) record(e event) {
	about, found := e.about, true
	if about.uid == "" {
		about, found = o.find(about)
	}
	if found {
		o.Events.Event(about.reference(), e.eventType, e.reason, e.message)
	}
}

// find completes the name of a Cluster by its UID, by which people find its Events.
func (o *observer) find(about subject) (subject, bool) {
	obj, exists, err := o.Clusters.Informer().GetStore().GetByKey(about.namespace + "/" + about.name)
	cluster, ok := obj.(*fleet.Cluster)
	if err != nil || !exists || !ok {
		return about, false
	}
	return aboutCluster(cluster), true
}
