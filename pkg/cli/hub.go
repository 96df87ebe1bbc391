package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// hubState is what a hub knows of its clusters, as far as the person who asks may read it.
type hubState struct {
	clusters []fleet.Cluster
	// beats are the times of the last heartbeats, by the cluster's namespace.
	beats map[string]time.Time
	// requests are those that concern a cluster, by its workspace and name, as far as the person may read them.
	requests map[string][]*fleet.ClusterRegistration
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
	known.requests = requestsOf(known.clusters, requests)
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

// requestsOf finds the requests for each cluster: by the cluster's name, or by its client ID where the request was never
// matched to one.
func requestsOf(clusters []fleet.Cluster, requests []fleet.ClusterRegistration) map[string][]*fleet.ClusterRegistration {
	byKey := map[string][]*fleet.ClusterRegistration{}
	for i := range requests {
		r := &requests[i]
		key := r.Namespace + "/name/" + r.Status.ClusterName
		if r.Status.ClusterName == "" {
			key = r.Namespace + "/client/" + r.Spec.ClientID
		}
		byKey[key] = append(byKey[key], r)
	}
	found := map[string][]*fleet.ClusterRegistration{}
	for i := range clusters {
		c := &clusters[i]
		of := byKey[c.Namespace+"/name/"+c.Name]
		if c.Spec.ClientID != "" {
			of = slices.Concat(of, byKey[c.Namespace+"/client/"+c.Spec.ClientID])
		}
		found[c.Namespace+"/"+c.Name] = of
	}
	return found
}
