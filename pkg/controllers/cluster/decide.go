package cluster

import (
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// input is what is known about a Cluster that is to live.
type input struct {
	cluster *fleet.Cluster
	// name is that of the cluster's namespace; namespace and lease are nil where they do not exist.
	name      string
	namespace *corev1.Namespace
	lease     *coordinationv1.Lease
	// clientID is a fresh random one, for a Cluster that needs it.
	clientID string
}

// decision is what should be.
type decision struct {
	// update is the Cluster with its finalizer and client ID, nil where it has them.
	update *fleet.Cluster
	// namespace and lease are to be created, nil where they exist.
	namespace *corev1.Namespace
	lease     *coordinationv1.Lease
	// name is the cluster's namespace; blocked says why it cannot be used yet.
	name, blocked string
}

func decide(in input) decision {
	var d decision
	if updated, changed := prepared(in.cluster, in.clientID); changed {
		d.update = updated
	}
	d.name = in.name
	switch {
	case in.namespace == nil:
		d.namespace = newNamespace(in.cluster, d.name)
	case in.namespace.DeletionTimestamp != nil:
		d.blocked = fmt.Sprintf("namespace %s is still being deleted; it is made anew when it is gone", d.name)
		return d
	case !registration.IsPlaceOf(in.namespace, in.cluster):
		d.blocked = fmt.Sprintf("namespace %s belongs to another cluster (annotations %s, %s, %s). If that cluster, and everything of it, is gone for good, delete the namespace; else give this Cluster another name",
			d.name, names.ClusterNamespaceAnnotation, names.ClusterAnnotation, names.OwnerAnnotation)
		return d
	}
	if in.lease == nil && !in.cluster.Spec.Revoked {
		d.lease = newLease(in.cluster, d.name)
	}
	return d
}

// prepared adds what a Cluster must have before anything is made for it: the finalizer, so that nothing of it stays
// behind, and a client ID, by which a request of the agent that the hub imports is matched to it.
func prepared(c *fleet.Cluster, clientID string) (*fleet.Cluster, bool) {
	updated := c.DeepCopy()
	changed := false
	if !slices.Contains(updated.Finalizers, names.ClusterFinalizer) {
		updated.Finalizers = append(updated.Finalizers, names.ClusterFinalizer)
		changed = true
	}
	if updated.Spec.ClientID == "" && updated.Spec.KubeConfigSecret != "" && !registration.IsManagedElsewhere(c) {
		updated.Spec.ClientID = clientID
		changed = true
	}
	return updated, changed
}

// namespaceName is the cluster's namespace: what its status says if that is its own, else what follows from its name.
// claimed is the namespace that the status names, nil where there is none.
func namespaceName(c *fleet.Cluster, claimed *corev1.Namespace) string {
	if claimed != nil && registration.IsPlaceOf(claimed, c) {
		return claimed.Name
	}
	return names.ClusterNamespace(c.Namespace, c.Name)
}

func ownerOf(c *fleet.Cluster) string {
	return names.OwnerRef{Kind: "Cluster", Namespace: c.Namespace, Name: c.Name, UID: string(c.UID)}.String()
}

func newNamespace(c *fleet.Cluster, name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{
			names.ClusterNamespaceAnnotation: c.Namespace,
			names.ClusterAnnotation:          c.Name,
			names.OwnerAnnotation:            ownerOf(c),
		},
	}}
}

// newLease is the heartbeat's Lease. The hub makes it, so that the agent needs no right to create one, with the label
// that the hub's informer selects on.
func newLease(c *fleet.Cluster, namespace string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name:        names.HeartbeatLease,
		Namespace:   namespace,
		Labels:      map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{names.ClusterNamespaceAnnotation: c.Namespace, names.ClusterAnnotation: c.Name},
	}}
}
