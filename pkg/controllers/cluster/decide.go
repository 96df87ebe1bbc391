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
	// left is what is still there of what a revoked cluster was given.
	left left
	// former are its namespaces of before it was readmitted, shared the other Clusters that the same cluster is behind.
	former []*corev1.Namespace
	shared []*fleet.Cluster
}

// decision is what should be.
type decision struct {
	// update is the Cluster with its finalizer and client ID, nil where it has them.
	update *fleet.Cluster
	// namespace and lease are to be created, nil where they exist.
	namespace *corev1.Namespace
	lease     *coordinationv1.Lease
	// name is the cluster's namespace, empty where it has none; blocked says why it cannot be used yet.
	name, blocked string
	// former are namespaces that are to be deleted.
	former []*corev1.Namespace
	// left is what a revocation waits for, sharers name the other Clusters of the same cluster.
	left    left
	sharers string
}

func decide(in input) decision {
	var d decision
	if updated, changed := prepared(in.cluster, in.clientID); changed {
		d.update = updated
	}
	d.name, d.left, d.sharers = in.name, in.left, sharers(in.cluster.Namespace, in.shared)
	if _, err := registration.PlaceOf(in.cluster.Annotations); err != nil {
		d.blocked = err.Error()
		return d
	}
	switch {
	case in.namespace == nil && in.cluster.Spec.Revoked:
		d.name = "" // nothing is made for who is revoked
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
	if in.cluster.Spec.Revoked {
		return d
	}
	if in.lease == nil {
		d.lease = newLease(in.cluster, d.name)
	}
	if in.cluster.Status.Namespace == d.name {
		d.former = in.former
	}
	return d
}

// prepared adds what a Cluster must have before anything is made for it: the finalizer, so that nothing of it stays
// behind, a client ID, by which a request of the agent that the hub imports is matched to it, and a note of which namespace
// is its own, if it was ever revoked.
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
	if place, err := registration.PlaceOf(c.Annotations); err == nil && place.Next(c.Spec.Revoked) != place {
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, names.PlaceAnnotation, place.Next(c.Spec.Revoked).Annotation())
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
	return names.ClusterPlace(c.Namespace, c.Name, roundOf(c))
}

// roundOf is how often a Cluster was readmitted. Where that cannot be read nothing is done with it.
func roundOf(c *fleet.Cluster) int {
	place, err := registration.PlaceOf(c.Annotations)
	if err != nil {
		return 0
	}
	return place.Next(c.Spec.Revoked).Round
}

func ownerOf(c *fleet.Cluster) string {
	return names.OwnerRef{Kind: "Cluster", Namespace: c.Namespace, Name: c.Name, UID: string(c.UID)}.String()
}

func newNamespace(c *fleet.Cluster, name string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{
			names.ClusterNamespaceAnnotation: c.Namespace,
			names.ClusterAnnotation:          c.Name,
			names.OwnerAnnotation:            ownerOf(c),
		},
	}}
	if round := roundOf(c); round > 0 {
		ns.Annotations[names.PlaceAnnotation] = registration.Place{Round: round}.Annotation()
	}
	return ns
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
