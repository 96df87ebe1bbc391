package clusterregistration

import (
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// requestsOfPart finds the request that an object was made for, so that what is edited or deleted by hand is repaired,
// and the requests that wait for an import account.
func (h *handler) requestsOfPart(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	if secret, ok := obj.(*corev1.Secret); ok {
		h.minter.recent.Seen(secret)
	}
	owner, ok := names.ParseOwnerRef(meta.GetAnnotations()[names.OwnerAnnotation])
	switch {
	case !ok:
		return nil, nil
	case owner.Kind == registrationKind.Kind:
		return []relatedresource.Key{{Namespace: owner.Namespace, Name: owner.Name}}, nil
	case owner.Kind == tokenKind:
		return h.requestsOfToken(owner.Namespace, owner.Name, nil)
	}
	return nil, nil
}

// requestsOfCluster finds the requests that a Cluster may answer. One that goes may have had the name that another
// request waits for.
func (h *handler) requestsOfCluster(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	cluster, ok := obj.(*fleet.Cluster)
	if !ok {
		return keysOf(h.Registrations.Cache().GetByIndex(homelessRequests, namespace))
	}
	if cluster.Spec.ClientID == "" {
		return nil, nil
	}
	return keysOf(h.Registrations.Cache().GetByIndex(requestsByClient, clientKey(namespace, cluster.Spec.ClientID)))
}

// requestsOfDenial finds the requests that a denial kept out which is gone, or was taken back.
func (h *handler) requestsOfDenial(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	// Of one that is denied no more the condition may still say that it was, or what it was like before tells. One that is
	// gone is told with the last that was known of it.
	r, ok := obj.(*fleet.ClusterRegistration)
	if !ok || !denied(r) && grantedReason(r) != reasonDenied {
		return nil, nil
	}
	return keysOf(h.Registrations.Cache().GetByIndex(heldByDenial, identityKey(r)))
}

// requestsOfNamespace finds the requests of the Cluster that a namespace was made for.
func (h *handler) requestsOfNamespace(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	workspace, name := meta.GetAnnotations()[names.ClusterNamespaceAnnotation], meta.GetAnnotations()[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil, nil
	}
	return h.requestsOf(workspace, name)
}

// requestsOfToken finds the requests that a token may answer: those that name it, and for a token that the hub made those
// of its Cluster, since an agent of before tokens had names leaves the name out.
func (h *handler) requestsOfToken(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	keys, err := keysOf(h.Registrations.Cache().GetByIndex(requestsByToken, namespace+"/"+name))
	token, ok := obj.(*fleet.ClusterRegistrationToken)
	if err != nil || !ok {
		return keys, err
	}
	for _, ref := range token.OwnerReferences {
		if ref.Kind == "Cluster" {
			more, err := h.requestsOf(namespace, ref.Name)
			return append(keys, more...), err
		}
	}
	return keys, nil
}

func (h *handler) requestsOf(workspace, cluster string) ([]relatedresource.Key, error) {
	c, err := found(h.Clusters.Cache().Get(workspace, cluster))
	if err != nil || c == nil {
		return nil, err
	}
	return h.requestsOfCluster(workspace, cluster, c)
}

func keysOf(requests []*fleet.ClusterRegistration, err error) ([]relatedresource.Key, error) {
	keys := make([]relatedresource.Key, 0, len(requests))
	for _, r := range requests {
		keys = append(keys, relatedresource.NewKey(r.Namespace, r.Name))
	}
	return keys, err
}
