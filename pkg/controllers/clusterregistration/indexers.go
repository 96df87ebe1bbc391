package clusterregistration

import (
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// Indexes, each over one exact key: no handler lists a whole workspace.
const (
	clustersByClient = "fleet.registration.clusters-by-client"
	requestsByClient = "fleet.registration.requests-by-client"
	requestsByToken  = "fleet.registration.requests-by-token"
	homelessRequests = "fleet.registration.homeless-requests"
	secretsByRequest = "fleet.registration.secrets-by-request"
)

var registrationKind = fleet.SchemeGroupVersion.WithKind("ClusterRegistration")

// tokenKind is the kind of the owner of an import account.
const tokenKind = "ClusterRegistrationToken"

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
		if token == "" || conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed) {
			return nil, nil
		}
		return []string{r.Namespace + "/" + token}, nil
	})
	deps.Registrations.Cache().AddIndexer(homelessRequests, func(r *fleet.ClusterRegistration) ([]string, error) {
		if r.Status.ClusterName != "" || r.Status.Granted {
			return nil, nil
		}
		return []string{r.Namespace}, nil
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
