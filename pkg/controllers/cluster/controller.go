package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	coordination "github.com/rancher/wrangler/v3/pkg/generated/controllers/coordination.k8s.io/v1"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const handlerName = "fleet-cluster"

// requestsByCluster indexes requests by the cluster that they are for, see requestKey.
const requestsByCluster = "fleet.cluster.requests"

// accountsByCluster indexes request accounts by the cluster that they are for.
const accountsByCluster = "fleet.cluster.accounts"

// placesByCluster indexes namespaces by the cluster that their marks name.
const placesByCluster = "fleet.cluster.places"

// clustersByReal indexes Clusters by the UIDs of the real clusters that they are known to lead to.
const clustersByReal = "fleet.cluster.by-real"

// Deps is what this controller works with.
type Deps struct {
	Clusters      fleetv1.ClusterController
	Registrations fleetv1.ClusterRegistrationController
	Tokens        fleetv1.ClusterRegistrationTokenClient
	Bundles       fleetv1.BundleClient
	Deployments   fleetv1.BundleDeploymentController
	Namespaces    core.NamespaceController
	Accounts      core.ServiceAccountController
	Leases        coordination.LeaseController
	Definition    Definition
	Config        *config.Source
	Names         names.Namespaces
	Clock         clock.PassiveClock
}

type handler struct {
	Deps
	recent *kube.Recent[*fleet.Cluster]
}

func newHandler(deps Deps) *handler {
	return &handler{Deps: deps, recent: kube.NewRecent[*fleet.Cluster]()}
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := newHandler(deps)
	h.addIndexers()
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	now := kube.Debounced(deps.Clusters, 0)
	kube.Watch(ctx, handlerName+"-parts", partOf, now, deps.Namespaces, deps.Accounts)
	kube.Watch(ctx, handlerName+"-leases", h.clusterOfLease, now, deps.Leases)
	kube.Watch(ctx, handlerName+"-requests", requestOf, now, deps.Registrations)
	kube.WatchChanges(ctx, handlerName+"-sharers", h.onSharer, deps.Clusters)
	kube.WatchChanges(ctx, handlerName+"-deployments", h.onDeployment, deps.Deployments)
}

func (h *handler) addIndexers() {
	h.Accounts.Cache().AddIndexer(accountsByCluster, h.accountKeys)
	h.Namespaces.Cache().AddIndexer(placesByCluster, placeKeys)
	h.Clusters.Cache().AddIndexer(clustersByReal, realKeys)
	h.Registrations.Cache().AddIndexer(requestsByCluster, func(r *fleet.ClusterRegistration) ([]string, error) {
		return []string{requestKey(r)}, nil
	})
}

func (h *handler) onChange(key string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	if cluster == nil {
		return nil, nil
	}
	if cluster.DeletionTimestamp != nil {
		return h.leave(cluster)
	}
	if registration.IsManagedElsewhere(cluster) {
		return cluster, nil
	}
	if h.recent.IsBehind(cluster) {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, kube.RecentLife)
		return cluster, nil
	}
	in, err := h.observe(cluster)
	if err != nil {
		return cluster, fmt.Errorf("cluster %s: %w", key, err)
	}
	return h.apply(cluster, decide(in))
}

func (h *handler) observe(cluster *fleet.Cluster) (input, error) {
	in := input{cluster: cluster}
	var err error
	if in.name, in.namespace, err = findPlace(cluster, h.Namespaces.Cache().Get); err != nil {
		return in, err
	}
	if in.lease, err = found(h.Leases.Cache().Get(in.name, names.HeartbeatLease)); err != nil {
		return in, fmt.Errorf("reading Lease %s/%s: %w", in.name, names.HeartbeatLease, err)
	}
	if in.left, err = h.observeLeft(cluster); err != nil {
		return in, err
	}
	if in.former, err = h.formerPlaces(cluster); err != nil {
		return in, err
	}
	if in.shared, err = h.observeShared(cluster); err != nil {
		return in, err
	}
	if cluster.Spec.ClientID == "" {
		in.clientID, err = registration.Random(rand.Reader)
	}
	return in, err
}

// findPlace finds the cluster's namespace, nil where it does not exist.
func findPlace(cluster *fleet.Cluster, get func(string) (*corev1.Namespace, error)) (string, *corev1.Namespace, error) {
	read := func(name string) (*corev1.Namespace, error) {
		ns, err := found(get(name))
		if err != nil {
			return nil, fmt.Errorf("reading namespace %s: %w", name, err)
		}
		return ns, nil
	}
	var claimed *corev1.Namespace
	var err error
	if name := cluster.Status.Namespace; name != "" {
		if claimed, err = read(name); err != nil {
			return "", nil, err
		}
	}
	name := namespaceName(cluster, claimed)
	if claimed != nil && claimed.Name == name {
		return name, claimed, nil
	}
	ns, err := read(name)
	return name, ns, err
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

func (h *handler) apply(cluster *fleet.Cluster, d decision) (*fleet.Cluster, error) {
	if d.update != nil {
		updated, err := h.Clusters.Update(d.update)
		if err != nil {
			return cluster, fmt.Errorf("adding finalizer and client ID to cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
		}
		return updated, nil // its own event goes on with it; a status written on top of it now would meet a conflict
	}
	if d.namespace != nil {
		if own, err := h.ensureNamespace(cluster, d.namespace); err != nil || !own {
			return cluster, err
		}
	}
	if d.lease != nil {
		if err := h.ensureLease(d.lease); err != nil {
			return cluster, err
		}
	}
	if d.left.any() {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, lookAgain)
	}
	if err := h.report(cluster, d); err != nil {
		return cluster, err
	}
	return cluster, h.dropPlaces(d.former)
}

// ensureNamespace creates the namespace, and says whether it is the Cluster's. One that is there although the cache does not
// show it may be somebody else's: nothing is put into that, nor is it written into the status.
func (h *handler) ensureNamespace(cluster *fleet.Cluster, want *corev1.Namespace) (own bool, err error) {
	_, err = h.Namespaces.Create(want)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			err = fmt.Errorf("creating namespace %s: %w", want.Name, err)
		}
		return err == nil, err
	}
	live, err := h.liveNamespace(want.Name)
	if err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", want.Name, err)
	}
	if !registration.IsPlaceOf(live, cluster) {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, lookAgain) // by then the cache shows whose it is
		return false, nil
	}
	return true, nil
}

// ensureLease creates the Lease. One that is there although the cache does not show it has lost its label: nobody would
// see its renewals any more.
func (h *handler) ensureLease(want *coordinationv1.Lease) error {
	_, err := h.Leases.Create(want)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			err = fmt.Errorf("creating Lease %s/%s: %w", want.Namespace, want.Name, err)
		}
		return err
	}
	live, err := h.Leases.Get(want.Namespace, want.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading Lease %s/%s: %w", want.Namespace, want.Name, err)
	}
	if live.Labels[names.ManagedLabel] == want.Labels[names.ManagedLabel] {
		return nil // the cache has yet to see it
	}
	updated := live.DeepCopy()
	updated.Labels, updated.Annotations = want.Labels, want.Annotations
	if _, err := h.Leases.Update(updated); err != nil {
		return fmt.Errorf("marking Lease %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

func (h *handler) report(cluster *fleet.Cluster, d decision) error {
	now := h.Clock.Now()
	updated, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		reportShared(status, d.sharers, now)
		reportRevoked(status, cluster, d.left, now)
		if d.blocked != "" {
			conditions.SetCondition(&status.Conditions, fleet.ClusterConditionProcessed, metav1.ConditionFalse, "NamespaceBlocked", d.blocked, now)
			return
		}
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionProcessed, metav1.ConditionTrue, "", "", now)
		if d.name == "" {
			return
		}
		status.Namespace = d.name
		reportReadmitted(status, cluster, now)
		expectAgent(status, now)
		registration.AwaitCheckIn(status)
	})
	if updated != nil {
		h.recent.Wrote(updated)
	}
	return err
}

// expectAgent says from the start what a Cluster waits for.
func expectAgent(status *fleet.ClusterStatus, now time.Time) {
	for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected} {
		if conditions.GetCondition(status.Conditions, kind) == nil {
			conditions.SetCondition(&status.Conditions, kind, metav1.ConditionFalse, reasonWaiting, "waiting for the agent's first heartbeat", now)
		}
	}
}
