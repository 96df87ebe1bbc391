package clusterregistration

import (
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Indexes, each over one exact key: no handler lists a whole workspace.
const (
	clustersByClient = "fleet.registration.clusters-by-client"
	requestsByClient = "fleet.registration.requests-by-client"
	requestsByToken  = "fleet.registration.requests-by-token"
	secretsByRequest = "fleet.registration.secrets-by-request"
)

var registrationKind = fleet.SchemeGroupVersion.WithKind("ClusterRegistration")

func clientKey(namespace, clientID string) string { return namespace + "/" + clientID }

func addIndexers(deps Deps) {
	deps.Clusters.Cache().AddIndexer(clustersByClient, func(c *fleet.Cluster) ([]string, error) {
		if c.Spec.ClientID == "" {
			return nil, nil
		}
		return []string{clientKey(c.Namespace, c.Spec.ClientID)}, nil
	})
	deps.Registrations.Cache().AddIndexer(requestsByClient, func(r *fleet.ClusterRegistration) ([]string, error) {
		return []string{clientKey(r.Namespace, r.Spec.ClientID)}, nil
	})
	deps.Registrations.Cache().AddIndexer(requestsByToken, func(r *fleet.ClusterRegistration) ([]string, error) {
		token := r.Labels[names.RegistrationTokenLabel]
		if token == "" || r.Status.Granted {
			return nil, nil
		}
		return []string{r.Namespace + "/" + token}, nil
	})
	deps.Secrets.Cache().AddIndexer(secretsByRequest, func(s *corev1.Secret) ([]string, error) {
		if s.Type != names.CredentialSecretType {
			return nil, nil
		}
		owner, ok := names.ParseOwnerRef(s.Annotations[names.OwnerAnnotation])
		if !ok {
			return nil, nil
		}
		return []string{owner.Namespace + "/" + owner.Name}, nil
	})
}

// requestOfPart finds the request that an object was made for, so that what is edited or deleted by hand is repaired.
func requestOfPart(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	owner, ok := names.ParseOwnerRef(meta.GetAnnotations()[names.OwnerAnnotation])
	if !ok || owner.Kind != registrationKind.Kind {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: owner.Namespace, Name: owner.Name}}, nil
}

// requestsOfCluster finds the requests that a Cluster may answer.
func (h *handler) requestsOfCluster(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	cluster, ok := obj.(*fleet.Cluster)
	if !ok || cluster.Spec.ClientID == "" {
		return nil, nil
	}
	return keysOf(h.Registrations.Cache().GetByIndex(requestsByClient, clientKey(namespace, cluster.Spec.ClientID)))
}

// requestsOfToken finds the requests that wait for a token.
func (h *handler) requestsOfToken(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	return keysOf(h.Registrations.Cache().GetByIndex(requestsByToken, namespace+"/"+name))
}

func keysOf(requests []*fleet.ClusterRegistration, err error) ([]relatedresource.Key, error) {
	keys := make([]relatedresource.Key, 0, len(requests))
	for _, r := range requests {
		keys = append(keys, relatedresource.NewKey(r.Namespace, r.Name))
	}
	return keys, err
}
