package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// placeKeys knows the namespaces of a Cluster by their marks.
func placeKeys(ns *corev1.Namespace) ([]string, error) {
	var keys []string
	for _, key := range clusterIn(ns.Annotations) {
		keys = append(keys, key.Namespace+"/"+key.Name)
	}
	return keys, nil
}

// formerPlaces are the namespaces that a Cluster had before it was readmitted.
func (h *handler) formerPlaces(cluster *fleet.Cluster) ([]*corev1.Namespace, error) {
	round := roundOf(cluster)
	return h.places(cluster, func(of int) bool { return of < round })
}

// places are the namespaces that were provably made for a Cluster, in the rounds that are wanted, and are not being deleted.
// Marks alone are no proof, since whoever may edit a namespace could have the hub delete it: it must have the very name that
// the hub gave it.
func (h *handler) places(cluster *fleet.Cluster, wanted func(round int) bool) ([]*corev1.Namespace, error) {
	all, err := h.Namespaces.Cache().GetByIndex(placesByCluster, cluster.Namespace+"/"+cluster.Name)
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	var own []*corev1.Namespace
	for _, ns := range all {
		owner, ok := names.ParseOwnerRef(ns.Annotations[names.OwnerAnnotation])
		round, err := registration.RoundOf(ns)
		if ok && owner.UID == string(cluster.UID) && err == nil && ns.DeletionTimestamp == nil && wanted(round) &&
			ns.Name == names.ClusterPlace(cluster.Namespace, cluster.Name, round) {
			own = append(own, ns)
		}
	}
	return own, nil
}

// dropPlaces deletes namespaces, with all that is in them.
func (h *handler) dropPlaces(places []*corev1.Namespace) error {
	for _, ns := range places {
		if err := h.freeLease(ns.Name); err != nil {
			return err
		}
		if err := kube.Deleted(h.Namespaces.Delete(ns.Name, kube.ByUID(ns.UID))); err != nil {
			return fmt.Errorf("namespace %s: %w", ns.Name, err)
		}
	}
	return nil
}
