package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
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

func readHub(ctx context.Context, objects dynamic.Interface, clients kubernetes.Interface, namespace string) (hubState, error) {
	var known hubState
	var err error
	known.clusters, err = readAll[fleet.Cluster](ctx, objects, fleet.ClusterResourceNamePlural, namespace)
	if apierrors.IsNotFound(err) {
		return known, fmt.Errorf("this cluster is no hub: kind Cluster of fleet.cattle.io is not served; install the charts fleet-crd and fleet: %w", err)
	}
	if err != nil {
		return known, fmt.Errorf("listing clusters: %w", err)
	}
	requests, err := readAll[fleet.ClusterRegistration](ctx, objects, fleet.ClusterRegistrationResourceNamePlural, namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return known, fmt.Errorf("listing registration requests: %w", err)
	}
	known.refused = refusedRequests(known.clusters, requests)
	known.beats, err = readBeats(ctx, clients)
	return known, err
}

// readAll reads all objects of a kind, page by page.
func readAll[T any](ctx context.Context, client dynamic.Interface, plural, namespace string) ([]T, error) {
	resource := client.Resource(fleet.SchemeGroupVersion.WithResource(plural)).Namespace(namespace)
	var all []T
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := resource.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			var obj T
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, &obj); err != nil {
				return nil, fmt.Errorf("reading %s %s/%s: %w", plural, page.Items[i].GetNamespace(), page.Items[i].GetName(), err)
			}
			all = append(all, obj)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// readBeats reads the heartbeats. Who may not read Leases sees the slower check-ins instead.
func readBeats(ctx context.Context, client kubernetes.Interface) (map[string]time.Time, error) {
	leases, err := client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: names.ManagedLabel + "=true"})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing heartbeats: %w", err)
	}
	beats := map[string]time.Time{}
	for _, lease := range leases.Items {
		if lease.Name == names.HeartbeatLease && lease.Spec.RenewTime != nil {
			beats[lease.Namespace] = lease.Spec.RenewTime.Time
		}
	}
	return beats, nil
}

// refusedRequests finds, for each cluster, a request for it that is not granted: by the cluster's name, or by its client
// ID where the request was never matched to one.
func refusedRequests(clusters []fleet.Cluster, requests []fleet.ClusterRegistration) map[string]string {
	byKey := map[string]string{}
	for i := range requests {
		r := &requests[i]
		granted := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
		if granted == nil || granted.Status != corev1.ConditionFalse {
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
