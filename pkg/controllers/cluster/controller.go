package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	coordination "github.com/rancher/wrangler/v3/pkg/generated/controllers/coordination.k8s.io/v1"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const handlerName = "fleet-cluster"

// accountsByCluster indexes request accounts by the cluster that they are for.
const accountsByCluster = "fleet.cluster.accounts"

// Deps is what this controller works with.
type Deps struct {
	Clusters      fleetv1.ClusterController
	Registrations fleetv1.ClusterRegistrationController
	Tokens        fleetv1.ClusterRegistrationTokenClient
	Bundles       fleetv1.BundleClient
	Namespaces    core.NamespaceController
	Accounts      core.ServiceAccountController
	Leases        coordination.LeaseController
	Names         names.Namespaces
	Clock         clock.PassiveClock
}

type handler struct{ Deps }

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{deps}
	deps.Accounts.Cache().AddIndexer(accountsByCluster, accountKeys)
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	relatedresource.Watch(ctx, handlerName+"-parts", partOf, kube.Debounced(deps.Clusters, 0), deps.Namespaces, deps.Leases, deps.Accounts)
	relatedresource.Watch(ctx, handlerName+"-requests", requestOf, kube.Debounced(deps.Clusters, 0), deps.Registrations)
}

func accountKeys(account *corev1.ServiceAccount) ([]string, error) {
	workspace, name := account.Annotations[names.ClusterNamespaceAnnotation], account.Annotations[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil, nil
	}
	return []string{workspace + "/" + name}, nil
}

// partOf finds the Cluster of a namespace, a Lease or an account by its annotations.
func partOf(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok || obj == nil {
		return nil, nil
	}
	// A Lease is renewed all the time; only one that is going away, or gone, is of interest here.
	if lease, isLease := obj.(*coordinationv1.Lease); isLease && lease.Spec.RenewTime != nil && lease.DeletionTimestamp == nil {
		return nil, nil
	}
	annotations := meta.GetAnnotations()
	workspace, name := annotations[names.ClusterNamespaceAnnotation], annotations[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: workspace, Name: name}}, nil
}

// requestOf finds the Cluster that a request was matched to: while that one is being deleted it waits for the request.
func requestOf(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	request, ok := obj.(*fleet.ClusterRegistration)
	if !ok || request == nil || request.Status.ClusterName == "" {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: namespace, Name: request.Status.ClusterName}}, nil
}

func (h *handler) onChange(key string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	if cluster == nil {
		return nil, nil
	}
	if cluster.DeletionTimestamp != nil {
		return h.leave(cluster)
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
	name := NamespaceName(cluster)
	if in.namespace, err = found(h.Namespaces.Cache().Get(name)); err != nil {
		return in, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	if in.lease, err = found(h.Leases.Cache().Get(name, names.HeartbeatLease)); err != nil {
		return in, fmt.Errorf("reading Lease %s/%s: %w", name, names.HeartbeatLease, err)
	}
	if cluster.Spec.ClientID == "" {
		in.clientID, err = registration.Random(rand.Reader)
	}
	return in, err
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
		cluster = updated
	}
	if d.namespace != nil {
		if _, err := h.Namespaces.Create(d.namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return cluster, fmt.Errorf("creating namespace %s: %w", d.namespace.Name, err)
		}
	}
	if d.lease != nil {
		if _, err := h.Leases.Create(d.lease); err != nil && !apierrors.IsAlreadyExists(err) {
			return cluster, fmt.Errorf("creating Lease %s/%s: %w", d.lease.Namespace, d.lease.Name, err)
		}
	}
	return cluster, h.report(cluster, d)
}

func (h *handler) report(cluster *fleet.Cluster, d decision) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		if d.blocked != "" {
			conditions.SetCondition(&status.Conditions, fleet.ClusterConditionProcessed, metav1.ConditionFalse, "NamespaceBlocked", d.blocked, now)
			return
		}
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionProcessed, metav1.ConditionTrue, "", "", now)
		status.Namespace = d.name
		expectAgent(status, now)
		if status.Agent.LastSeen.IsZero() && status.Display.State == "" {
			status.Display.State = stateWaitCheckIn
		} else if !status.Agent.LastSeen.IsZero() && status.Display.State == stateWaitCheckIn {
			status.Display.State = ""
		}
	})
	return err
}

// expectAgent says from the start what a Cluster waits for.
func expectAgent(status *fleet.ClusterStatus, now time.Time) {
	for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected} {
		if conditions.GetCondition(status.Conditions, kind) == nil {
			conditions.SetCondition(&status.Conditions, kind, metav1.ConditionFalse, "WaitingForAgent", "waiting for the agent's first heartbeat", now)
		}
	}
}

func (h *handler) leave(cluster *fleet.Cluster) (*fleet.Cluster, error) {
	in, err := h.observeLeaving(cluster)
	if err != nil {
		return cluster, fmt.Errorf("deleting cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	if err := h.applyFarewell(cluster, decideFarewell(in)); err != nil {
		return cluster, fmt.Errorf("deleting cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	return cluster, nil
}

func (h *handler) observeLeaving(cluster *fleet.Cluster) (leaving, error) {
	in := leaving{cluster: cluster}
	requests, err := h.Registrations.Cache().List(cluster.Namespace, labels.Everything())
	if err != nil {
		return in, fmt.Errorf("listing registrations: %w", err)
	}
	for _, r := range requests {
		if belongs(r, cluster) {
			in.registrations = append(in.registrations, r)
		}
	}
	if in.accounts, err = h.Accounts.Cache().GetByIndex(accountsByCluster, cluster.Namespace+"/"+cluster.Name); err != nil {
		return in, fmt.Errorf("listing accounts: %w", err)
	}
	// What decides a deletion is read live.
	name := NamespaceName(cluster)
	if in.namespace, err = found(h.Namespaces.Get(name, metav1.GetOptions{})); err != nil {
		return in, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return in, nil
}

func (h *handler) applyFarewell(cluster *fleet.Cluster, f farewell) error {
	for _, r := range f.registrations {
		if err := gone(h.Registrations.Delete(r.Namespace, r.Name, kube.ByUID(r.UID))); err != nil {
			return fmt.Errorf("registration %s: %w", r.Name, err)
		}
	}
	if !f.done {
		return nil
	}
	if err := gone(h.Bundles.Delete(cluster.Namespace, f.bundle, &metav1.DeleteOptions{})); err != nil {
		return fmt.Errorf("bundle %s: %w", f.bundle, err)
	}
	if err := gone(h.Tokens.Delete(cluster.Namespace, f.token, &metav1.DeleteOptions{})); err != nil {
		return fmt.Errorf("registration token %s: %w", f.token, err)
	}
	if f.namespace != "" {
		if err := gone(h.Namespaces.Delete(f.namespace, &metav1.DeleteOptions{})); err != nil {
			return fmt.Errorf("namespace %s: %w", f.namespace, err)
		}
	}
	return h.dropFinalizer(cluster)
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (h *handler) dropFinalizer(cluster *fleet.Cluster) error {
	updated := cluster.DeepCopy()
	updated.Finalizers = nil
	for _, f := range cluster.Finalizers {
		if f != names.ClusterFinalizer {
			updated.Finalizers = append(updated.Finalizers, f)
		}
	}
	if _, err := h.Clusters.Update(updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("dropping the finalizer: %w", err)
	}
	return nil
}
