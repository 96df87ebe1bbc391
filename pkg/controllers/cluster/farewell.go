package cluster

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// leaving is what is still there of a Cluster that is being deleted.
type leaving struct {
	cluster *fleet.Cluster
	// registrations are the requests of this cluster, accounts the request accounts that they were granted.
	registrations []*fleet.ClusterRegistration
	accounts      []*corev1.ServiceAccount
	// namespace, bundle and token are nil where they do not exist, or where it is not their turn yet.
	namespace *corev1.Namespace
	bundle    *fleet.Bundle
	token     *fleet.ClusterRegistrationToken
	// places are all namespaces that were made for it, those of before it was readmitted among them.
	places []*corev1.Namespace
}

// farewell is the next step of leaving. Credentials go first, because a namespace takes seconds to go and a binding in
// it stays in force until then. No step asks the downstream cluster: it may never answer. What comes before it does, for a
// while: see removal.
type farewell struct {
	// registrations are to be deleted; their controller takes bindings and accounts away.
	registrations []*fleet.ClusterRegistration
	// held are requests that a finalizer keeps, which nobody but the hub has a say in: whoever may create one could hold up
	// the deletion of any Cluster by it. They are let go and not waited for; what was granted goes with the accounts.
	held []*fleet.ClusterRegistration
	// waiting says what must be gone before the next step.
	waiting string
	// bundle and token are to be deleted, nil where there is nothing of this Cluster's, and so are places, its namespaces.
	bundle *fleet.Bundle
	token  *fleet.ClusterRegistrationToken
	places []*corev1.Namespace
	// done says that the finalizer can go.
	done bool
}

func decideFarewell(in leaving) farewell {
	if !slices.Contains(in.cluster.Finalizers, names.ClusterFinalizer) {
		return farewell{}
	}
	var f farewell
	for _, r := range in.registrations {
		if r.DeletionTimestamp == nil {
			f.registrations = append(f.registrations, r)
		} else if len(r.Finalizers) > 0 {
			f.held = append(f.held, r)
		}
	}
	if n := len(f.registrations); n > 0 {
		f.waiting = fmt.Sprintf("%d registration requests of the cluster are being deleted", n)
		return f
	}
	if n := len(in.accounts); n > 0 {
		f.waiting = fmt.Sprintf("%d request accounts of the cluster are being revoked", n)
		return f
	}
	f.done = true
	if b := in.bundle; b != nil && b.DeletionTimestamp == nil && names.IsAgentBundle(b, in.cluster) {
		f.bundle = b
	}
	if t := in.token; t != nil && t.DeletionTimestamp == nil && owns(in.cluster, t.OwnerReferences) {
		f.token = t
	}
	if ns := in.namespace; ns != nil && ns.DeletionTimestamp == nil && marked(ns, in.cluster) {
		f.places = append(f.places, ns)
	}
	for _, ns := range in.places {
		if in.namespace == nil || ns.Name != in.namespace.Name {
			f.places = append(f.places, ns)
		}
	}
	return f
}

func owns(c *fleet.Cluster, refs []metav1.OwnerReference) bool {
	return slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID == c.UID })
}

// marked is stricter than registration.IsPlaceOf: to delete a namespace takes proof, one without a mark is left alone.
func marked(ns *corev1.Namespace, c *fleet.Cluster) bool {
	if !registration.IsPlaceOf(ns, c) {
		return false
	}
	_, owned := names.ParseOwnerRef(ns.Annotations[names.OwnerAnnotation])
	return owned || ns.Annotations[names.ClusterNamespaceAnnotation] == c.Namespace && ns.Annotations[names.ClusterAnnotation] == c.Name
}

// requestKey is the Cluster that a registration request is for, and clusterKeys are the requests of a Cluster, both as
// values of one index. A request that was never matched to a Cluster is told by its client ID, which is unique in a
// workspace.
func requestKey(r *fleet.ClusterRegistration) string {
	if r.Status.ClusterName != "" {
		return r.Namespace + "/name/" + r.Status.ClusterName
	}
	return r.Namespace + "/client/" + r.Spec.ClientID
}

func clusterKeys(c *fleet.Cluster) []string {
	keys := []string{c.Namespace + "/name/" + c.Name}
	if c.Spec.ClientID != "" {
		keys = append(keys, c.Namespace+"/client/"+c.Spec.ClientID)
	}
	return keys
}
