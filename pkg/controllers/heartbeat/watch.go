package heartbeat

import (
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// leaseOfRequest has a cluster judged anew when one of its requests changes: a credential that was just granted may
// already be in use.
func (h *handler) leaseOfRequest(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	r, ok := obj.(*fleet.ClusterRegistration)
	if !ok || r.Status.ClusterName == "" {
		return nil, nil
	}
	return h.leaseOf(namespace, r.Status.ClusterName)
}

// leaseOfAccount has a cluster judged anew when its account goes or is made anew.
func (h *handler) leaseOfAccount(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok || meta.GetAnnotations()[names.ClusterRegistrationAnnotation] == "" {
		return nil, nil
	}
	annotations := meta.GetAnnotations()
	return h.leaseOf(annotations[names.ClusterNamespaceAnnotation], annotations[names.ClusterAnnotation])
}

func (h *handler) leaseOf(workspace, name string) ([]relatedresource.Key, error) {
	cluster, err := h.Clusters.Cache().Get(workspace, name)
	if apierrors.IsNotFound(err) || err == nil && cluster.Status.Namespace == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h.tracker.invalidate(cluster.Status.Namespace)
	return []relatedresource.Key{{Namespace: cluster.Status.Namespace, Name: names.HeartbeatLease}}, nil
}

// leaseOfCheckin looks at agents that have no Lease and only report in the Cluster's status.
func (h *handler) leaseOfCheckin(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	c, ok := obj.(*fleet.Cluster)
	if !ok || c.Status.Namespace == "" || c.Status.Agent.LastSeen.IsZero() || c.Status.Agent.Version != "" {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: c.Status.Namespace, Name: names.HeartbeatLease}}, nil
}

// leaseOfSuspect looks at agents of which another suspicion stands on their Cluster than is said of them: a person has taken
// it off, or put it there.
func (h *handler) leaseOfSuspect(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	c, ok := obj.(*fleet.Cluster)
	if !ok || c.Status.Namespace == "" {
		return nil, nil
	}
	said := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
	if isSuspected(c) == (said != nil && said.Reason == registration.ReasonCloneSuspected) {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: c.Status.Namespace, Name: names.HeartbeatLease}}, nil
}
