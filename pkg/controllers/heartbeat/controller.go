package heartbeat

import (
	"context"
	"fmt"
	"time"

	coordination "github.com/rancher/wrangler/v3/pkg/generated/controllers/coordination.k8s.io/v1"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	handlerName       = "fleet-heartbeat"
	clustersByPlace   = "fleet.heartbeat.clusters-by-namespace"
	requestsByCluster = "fleet.heartbeat.requests-by-cluster"
	registrationKind  = "ClusterRegistration"
)

// Deps is what this controller works with.
type Deps struct {
	Leases        coordination.LeaseController
	Clusters      fleetv1.ClusterController
	Registrations fleetv1.ClusterRegistrationController
	Accounts      core.ServiceAccountController
	Secrets       core.SecretController
	Clients       kubernetes.Interface
	Config        *config.Source
	Names         names.Namespaces
	Clock         clock.PassiveClock
	// Presence is the hub's own touch with its API server; nil never ends.
	Presence *kube.Presence
}

type handler struct {
	Deps
	ctx     context.Context
	tracker *tracker
	recent  *kube.Recent[*fleet.Cluster]
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := newHandler(ctx, deps)
	addIndexers(deps)
	deps.Leases.OnChange(ctx, handlerName, h.onLease)
	kube.WatchChanges(ctx, handlerName+"-turns", h.onTurn, deps.Leases)
	now := kube.Debounced(deps.Leases, 0)
	kube.Watch(ctx, handlerName+"-requests", h.leaseOfRequest, now, deps.Registrations)
	kube.Watch(ctx, handlerName+"-accounts", h.leaseOfAccount, now, deps.Accounts)
	kube.Watch(ctx, handlerName+"-legacy", h.leaseOfCheckin, now, deps.Clusters)
	kube.Watch(ctx, handlerName+"-suspects", h.leaseOfSuspect, now, deps.Clusters)
	kube.Watch(ctx, handlerName+"-kubeconfigs", h.leasesOfSecret, now, deps.Secrets)
}

func newHandler(ctx context.Context, deps Deps) *handler {
	return &handler{Deps: deps, ctx: ctx, tracker: newTracker(deps.Clock.Now(), deps.Presence), recent: kube.NewRecent[*fleet.Cluster]()}
}

func addIndexers(deps Deps) {
	deps.Clusters.Cache().AddIndexer(clustersByPlace, func(c *fleet.Cluster) ([]string, error) {
		if c.Status.Namespace == "" {
			return nil, nil
		}
		return []string{c.Status.Namespace}, nil
	})
	deps.Clusters.Cache().AddIndexer(clustersBySecret, secretKeys)
	deps.Registrations.Cache().AddIndexer(requestsByCluster, func(r *fleet.ClusterRegistration) ([]string, error) {
		if r.Status.ClusterName == "" {
			return nil, nil
		}
		return []string{r.Namespace + "/" + r.Status.ClusterName}, nil
	})
}

func (h *handler) onLease(key string, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	place := relatedresource.FromString(key)
	if place.Name != names.HeartbeatLease {
		return lease, nil
	}
	if lease == nil {
		h.tracker.forget(place.Namespace)
		return nil, nil
	}
	cluster, err := h.clusterOf(lease)
	if err != nil || cluster == nil || cluster.DeletionTimestamp != nil {
		return lease, err
	}
	if h.recent.IsBehind(cluster) {
		h.Leases.EnqueueAfter(place.Namespace, place.Name, time.Second) // what was noted on the Cluster is yet to be seen
		return lease, nil
	}
	h.tracker.suspects(place.Namespace, isSuspected(cluster))
	e, judge := h.see(lease, cluster)
	if e.pulse.renewed.IsZero() && e.pulse.holder == "" {
		return lease, nil // nobody has used the Lease yet
	}
	if e.contact() == silent && h.tracker.isNews(place.Namespace, silent) {
		if known, err := h.seePastTheCache(&e); err != nil || !known {
			return lease, err
		}
	}
	if e.kubeconfig, err = h.kubeconfig(cluster); err != nil {
		return lease, err
	}
	e.basis = basisOf(e.kubeconfig, h.Config.Get().APIServerCA)
	defer h.lookAgain(place.Namespace, e)
	if !judge && !h.tracker.restsElsewhere(place.Namespace, e.basis) {
		return lease, nil
	}
	return lease, h.act(e)
}

// lookAgain orders a look at the end of the grace, and for an agent that is silent when something else becomes due. Of
// several orders the earliest holds. While the hub is out of touch, no grace begins, and so none ends before that.
func (h *handler) lookAgain(namespace string, e evidence) {
	wait := e.pulse.ends(e.grace).Sub(e.now)
	if wait <= 0 && e.contact() == unknown {
		wait = e.grace
	}
	if due := h.tracker.due(namespace); wait <= 0 && !due.IsZero() {
		wait = due.Sub(e.now)
	}
	if wait > 0 {
		h.Leases.EnqueueAfter(namespace, names.HeartbeatLease, wait+time.Second)
	}
}

// clusterOf is the Cluster that the hub made the Lease for. That the Cluster says so as well is not enough: its status
// can be written by its agent.
func (h *handler) clusterOf(lease *coordinationv1.Lease) (*fleet.Cluster, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersByPlace, lease.Namespace)
	if err != nil {
		return nil, fmt.Errorf("looking for the cluster of namespace %s: %w", lease.Namespace, err)
	}
	workspace, name := lease.Annotations[names.ClusterNamespaceAnnotation], lease.Annotations[names.ClusterAnnotation]
	for _, c := range clusters {
		if c.Namespace == workspace && c.Name == name {
			return c, nil
		}
	}
	return nil, nil
}

// grace is three intervals: the one that the agent says it beats at, within bounds, or the configured one.
func (h *handler) grace(lease *coordinationv1.Lease) time.Duration {
	interval := h.Config.Get().AgentHeartbeatInterval.Duration
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 && *s <= maxLeaseSeconds {
		interval = time.Duration(*s) * time.Second
	}
	return registration.Grace(interval)
}

// maxLeaseSeconds bounds what an agent may claim as its interval, or it could never be seen as silent.
const maxLeaseSeconds = 3600

func (h *handler) checkin() time.Duration {
	if d := h.Config.Get().AgentCheckinInterval.Duration; d > 0 {
		return d
	}
	return config.DefaultCheckinInterval
}

func renewTime(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func (h *handler) act(e evidence) error {
	if err := h.gather(&e); err != nil {
		return fmt.Errorf("cluster %s/%s: %w", e.cluster.Namespace, e.cluster.Name, err)
	}
	v := judge(e)
	if err := h.apply(e, v); err != nil {
		return fmt.Errorf("cluster %s/%s: %w", e.cluster.Namespace, e.cluster.Name, err)
	}
	h.tracker.settled(e.cluster.Status.Namespace, e.pulse, v.contact, v.due())
	h.tracker.rest(e.cluster.Status.Namespace, e.basis)
	if v.use.pending {
		h.tracker.invalidate(e.cluster.Status.Namespace)
	}
	return nil
}

func (h *handler) gather(e *evidence) error {
	requests, err := h.Registrations.Cache().GetByIndex(requestsByCluster, e.cluster.Namespace+"/"+e.cluster.Name)
	if err != nil {
		return fmt.Errorf("listing registrations: %w", err)
	}
	e.requests = requests
	e.lives = kube.LivesOf(e.cluster, e.kubeconfig, h.Config.Get().APIServerCA, e.now)
	e.accounts = map[string]string{}
	for _, r := range requests {
		account, err := h.Accounts.Cache().Get(h.Names.Agents, names.Account(r.Name, string(r.UID)))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the account of registration %s: %w", r.Name, err)
		}
		e.accounts[r.Name] = string(account.UID)
	}
	e.renewed, err = h.Secrets.Cache().Get(e.cluster.Status.Namespace, names.RenewedCredentialSecret)
	if apierrors.IsNotFound(err) {
		e.renewed, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading the renewed credential: %w", err)
	}
	return nil
}

func (h *handler) apply(e evidence, v verdict) error {
	if v.firstUse {
		_, err := kube.UpdateStatus(h.Registrations, v.use.request.Namespace, v.use.request.Name, kube.ClusterRegistrationStatus,
			func(status *fleet.ClusterRegistrationStatus) { registration.MarkUsed(status, *v.use.record, e.now) })
		if err != nil {
			return err
		}
	}
	cluster, err := h.note(e, v)
	if err != nil {
		return err
	}
	e.cluster = cluster
	_, err = kube.UpdateStatus(h.Clusters, e.cluster.Namespace, e.cluster.Name, kube.ClusterStatus,
		func(status *fleet.ClusterStatus) { report(status, e, v) })
	if err != nil {
		return err
	}
	return h.keepCredential(e, v)
}
