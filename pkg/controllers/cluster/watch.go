package cluster

import (
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// accountKeys knows the request accounts of a Cluster. Those of other namespaces are not the hub's: whoever made one could
// hold up the deletion of a Cluster by naming it.
func (h *handler) accountKeys(account *corev1.ServiceAccount) ([]string, error) {
	if account.Namespace != h.Names.Agents {
		return nil, nil
	}
	var keys []string
	for _, key := range clusterIn(account.Annotations) {
		keys = append(keys, key.Namespace+"/"+key.Name)
	}
	return keys, nil
}

// clusterIn is the Cluster that the annotations of an object name, none where they name no whole one.
func clusterIn(annotations map[string]string) []relatedresource.Key {
	workspace, name := annotations[names.ClusterNamespaceAnnotation], annotations[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil
	}
	return []relatedresource.Key{{Namespace: workspace, Name: name}}
}

// partOf finds the Cluster of a namespace or an account by its annotations.
func partOf(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	return clusterIn(meta.GetAnnotations()), nil
}

// clusterOfLease finds the Cluster of a Lease that is going away, or gone. One that lives is renewed all the time, and
// that is none of our business. One that is gone says nothing any more; its namespace does.
func (h *handler) clusterOfLease(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	if name != names.HeartbeatLease {
		return nil, nil
	}
	if lease, ok := obj.(*coordinationv1.Lease); ok {
		if lease.DeletionTimestamp == nil {
			return nil, nil
		}
		return clusterIn(lease.Annotations), nil
	}
	ns, err := found(h.Namespaces.Cache().Get(namespace))
	if err != nil || ns == nil {
		return nil, err
	}
	return clusterIn(ns.Annotations), nil
}

// requestOf finds the Cluster that a request was matched to: while that one is being deleted it waits for the request.
func requestOf(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	request, ok := obj.(*fleet.ClusterRegistration)
	if !ok || request.Status.ClusterName == "" {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: namespace, Name: request.Status.ClusterName}}, nil
}
