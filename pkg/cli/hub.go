package cli

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
)

// hubState is what a hub knows of its clusters, as far as the person who asks may read it.
type hubState struct {
	clusters []fleet.Cluster
	// beats are the times of the last heartbeats, by the cluster's namespace.
	beats map[string]time.Time
	// refused says of a cluster, by workspace and name, which request for it is not granted, and why.
	refused map[string]string
}

func readHub(ctx context.Context, h *hub, namespace string) (hubState, error) {
	var known hubState
	var err error
	known.clusters, err = readAll[fleet.Cluster](ctx, h, kindCluster, namespace)
	if err != nil {
		return known, fmt.Errorf("listing clusters: %w", err)
	}
	requests, err := readAll[fleet.ClusterRegistration](ctx, h, kindRequest, namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return known, fmt.Errorf("listing registration requests: %w", err)
	}
	known.refused = refusedRequests(known.clusters, requests)
	known.beats, err = readBeats(ctx, h)
	return known, err
}

// readBeats reads the heartbeats. Who may not read Leases sees the slower check-ins instead.
func readBeats(ctx context.Context, h *hub) (map[string]time.Time, error) {
	beats := map[string]time.Time{}
	options := metav1.ListOptions{LabelSelector: names.ManagedLabel + "=true"}
	err := eachItem(ctx, h.clients.CoordinationV1().Leases(metav1.NamespaceAll).List, options, func(item runtime.Object) error {
		lease, ok := item.(*coordinationv1.Lease)
		if ok && lease.Name == names.HeartbeatLease && lease.Spec.RenewTime != nil {
			beats[lease.Namespace] = lease.Spec.RenewTime.Time
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing heartbeats: %w", err)
	}
	return beats, nil
}

// refusedRequests finds, for each cluster, a request for it that is not granted and still may be: by the cluster's name, or
// by its client ID where the request was never matched to one.
func refusedRequests(clusters []fleet.Cluster, requests []fleet.ClusterRegistration) map[string]string {
	byKey := map[string]string{}
	for i := range requests {
		r := &requests[i]
		granted := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
		if granted == nil || granted.Status != corev1.ConditionFalse || !explain.IsPending(granted.Reason) {
			continue
		}
		said := fmt.Sprintf("request %s: %s", r.Name, granted.Reason)
		if r.Status.ClusterName != "" {
			byKey[r.Namespace+"/name/"+r.Status.ClusterName] = said
		} else if r.Spec.ClientID != "" {
			byKey[r.Namespace+"/client/"+r.Spec.ClientID] = said
		}
	}
	refused := map[string]string{}
	for i := range clusters {
		c := &clusters[i]
		for _, key := range []string{c.Namespace + "/client/" + c.Spec.ClientID, c.Namespace + "/name/" + c.Name} {
			if said, ok := byKey[key]; ok {
				refused[c.Namespace+"/"+c.Name] = said
			}
		}
	}
	return refused
}
