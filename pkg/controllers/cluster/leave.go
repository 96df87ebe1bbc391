package cluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

func (h *handler) leave(cluster *fleet.Cluster) (*fleet.Cluster, error) {
	if err := h.letLeave(cluster); err != nil {
		return cluster, fmt.Errorf("deleting cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	return cluster, nil
}

// letLeave has the bundles removed first, where that is wanted: by its access an agent removes them, which ends after that.
func (h *handler) letLeave(cluster *fleet.Cluster) error {
	removed, err := h.removeBundles(cluster)
	if err != nil || !removed.done {
		return err
	}
	in, err := h.observeLeaving(cluster)
	if err != nil {
		return err
	}
	return h.applyFarewell(cluster, decideFarewell(in), removed.incomplete)
}

func (h *handler) observeLeaving(cluster *fleet.Cluster) (leaving, error) {
	in := leaving{cluster: cluster}
	var err error
	if in.registrations, err = h.requestsOf(cluster); err != nil {
		return in, err
	}
	if in.accounts, err = h.Accounts.Cache().GetByIndex(accountsByCluster, cluster.Namespace+"/"+cluster.Name); err != nil {
		return in, fmt.Errorf("listing accounts: %w", err)
	}
	if len(in.accounts) > 0 {
		return in, nil
	}
	err = h.observeRest(&in)
	return in, err
}

// observeRest reads live what decides a deletion.
func (h *handler) observeRest(in *leaving) error {
	workspace := in.cluster.Namespace
	var err error
	if _, in.namespace, err = findPlace(in.cluster, h.liveNamespace); err != nil {
		return err
	}
	if in.places, err = h.places(in.cluster, func(int) bool { return true }); err != nil {
		return err
	}
	bundle := names.AgentBundle(in.cluster.Name)
	if in.bundle, err = found(h.Bundles.Get(workspace, bundle, metav1.GetOptions{})); err != nil {
		return fmt.Errorf("reading bundle %s: %w", bundle, err)
	}
	token := names.ImportToken(in.cluster.Name)
	if in.token, err = found(h.Tokens.Get(workspace, token, metav1.GetOptions{})); err != nil {
		return fmt.Errorf("reading registration token %s: %w", token, err)
	}
	return nil
}

func (h *handler) liveNamespace(name string) (*corev1.Namespace, error) {
	return h.Namespaces.Get(name, metav1.GetOptions{})
}

// lookAgain is how often a leaving Cluster is looked at beside the events of what it waits for: a deletion that a broken
// watch missed has no event that says whose the object was.
const lookAgain = 15 * time.Second

// applyFarewell makes the next step. incomplete is what it is to be said meanwhile that was not removed.
func (h *handler) applyFarewell(cluster *fleet.Cluster, f farewell, incomplete string) error {
	if incomplete != "" && !hasReason(cluster, reasonRemovalIncomplete) {
		if err := h.reportLeaving(cluster, reasonRemovalIncomplete, incomplete); err != nil {
			return err
		}
	}
	for _, r := range f.registrations {
		if err := kube.Deleted(h.Registrations.Delete(r.Namespace, r.Name, kube.ByUID(r.UID))); err != nil {
			return fmt.Errorf("registration %s: %w", r.Name, err)
		}
	}
	for _, r := range f.held {
		if err := h.letGo(r); err != nil {
			return err
		}
	}
	if f.waiting != "" {
		h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, lookAgain)
		if incomplete != "" {
			return h.reportLeaving(cluster, reasonRemovalIncomplete, incomplete+"; "+f.waiting)
		}
		return h.reportLeaving(cluster, reasonLeaving, f.waiting)
	}
	if !f.done {
		return nil
	}
	if b := f.bundle; b != nil {
		if err := kube.Deleted(h.Bundles.Delete(b.Namespace, b.Name, kube.ByUID(b.UID))); err != nil {
			return fmt.Errorf("bundle %s: %w", b.Name, err)
		}
	}
	if t := f.token; t != nil {
		if err := kube.Deleted(h.Tokens.Delete(t.Namespace, t.Name, kube.ByUID(t.UID))); err != nil {
			return fmt.Errorf("registration token %s: %w", t.Name, err)
		}
	}
	if err := h.dropPlaces(f.places); err != nil {
		return err
	}
	return h.dropFinalizer(cluster)
}

// letGo takes the finalizers off a request that is being deleted.
func (h *handler) letGo(r *fleet.ClusterRegistration) error {
	updated := r.DeepCopy()
	updated.Finalizers = nil
	if _, err := h.Registrations.Update(updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("taking the finalizers off registration %s: %w", r.Name, err)
	}
	return nil
}

// freeLease takes off the Lease what its agent may have put there to keep the namespace, and with it the name, for ever.
func (h *handler) freeLease(namespace string) error {
	lease, err := found(h.Leases.Get(namespace, names.HeartbeatLease, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading Lease %s/%s: %w", namespace, names.HeartbeatLease, err)
	}
	if lease == nil || len(lease.Finalizers) == 0 {
		return nil
	}
	updated := lease.DeepCopy()
	updated.Finalizers = nil
	if _, err := h.Leases.Update(updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("taking the finalizers off Lease %s/%s: %w", namespace, names.HeartbeatLease, err)
	}
	return nil
}

// Reasons of condition Processed of a Cluster that is being deleted.
const (
	reasonLeaving           = "Leaving"
	reasonRemovalIncomplete = "RemovalIncomplete"
)

func hasReason(cluster *fleet.Cluster, reason string) bool {
	have := conditions.GetCondition(cluster.Status.Conditions, fleet.ClusterConditionProcessed)
	return have != nil && have.Reason == reason
}

// reportLeaving says what a deletion waits for.
func (h *handler) reportLeaving(cluster *fleet.Cluster, reason, waiting string) error {
	now := h.Clock.Now()
	_, err := kube.UpdateStatus(h.Clusters, cluster.Namespace, cluster.Name, kube.ClusterStatus, func(status *fleet.ClusterStatus) {
		conditions.SetCondition(&status.Conditions, fleet.ClusterConditionProcessed, metav1.ConditionFalse, reason, waiting, now)
	})
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
