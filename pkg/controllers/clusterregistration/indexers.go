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
	// grantsByClient are the granted ones of requestsByClient: whoever may ask can ask as often as he likes.
	grantsByClient = "fleet.registration.grants-by-client"
	// openRequests are those that the configuration may change something for, all under one key.
	openRequests   = "fleet.registration.open-requests"
	deniedRequests = "fleet.registration.denied-requests"
	// heldByDenial are requests that another one's denial keeps out, by who asks.
	heldByDenial = "fleet.registration.held-by-denial"
	// keptByToken are requests that lead to nothing, by the token that they name: see withinBounds.
	keptByToken = "fleet.registration.kept-by-token"
	// newRequests are those that have no answer yet, all under one key.
	newRequests      = "fleet.registration.new-requests"
	secretsByRequest = "fleet.registration.secrets-by-request"
)

var registrationKind = fleet.SchemeGroupVersion.WithKind("ClusterRegistration")

// tokenKind is the kind of the owner of an import account.
const tokenKind = "ClusterRegistrationToken"

func clientKey(namespace, clientID string) string { return namespace + "/" + clientID }

func addIndexers(deps Deps) {
	addRequestIndexers(deps)
	addDenialIndexers(deps)
	addCrowdIndexer(deps)
	deps.Clusters.Cache().AddIndexer(clustersByClient, func(c *fleet.Cluster) ([]string, error) {
		if c.Spec.ClientID == "" {
			return nil, nil
		}
		return []string{clientKey(c.Namespace, c.Spec.ClientID)}, nil
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

func addRequestIndexers(deps Deps) {
	deps.Registrations.Cache().AddIndexer(requestsByClient, func(r *fleet.ClusterRegistration) ([]string, error) {
		return []string{clientKey(r.Namespace, r.Spec.ClientID)}, nil
	})
	deps.Registrations.Cache().AddIndexer(requestsByToken, func(r *fleet.ClusterRegistration) ([]string, error) {
		token := r.Labels[names.RegistrationTokenLabel]
		if token == "" || isSettled(r) {
			return nil, nil
		}
		return []string{r.Namespace + "/" + token}, nil
	})
	deps.Registrations.Cache().AddIndexer(grantsByClient, func(r *fleet.ClusterRegistration) ([]string, error) {
		if !r.Status.Granted {
			return nil, nil
		}
		return []string{clientKey(r.Namespace, r.Spec.ClientID)}, nil
	})
	deps.Registrations.Cache().AddIndexer(openRequests, func(r *fleet.ClusterRegistration) ([]string, error) {
		if isSettled(r) {
			return nil, nil
		}
		return []string{openRequests}, nil
	})
	deps.Registrations.Cache().AddIndexer(newRequests, func(r *fleet.ClusterRegistration) ([]string, error) {
		if r.Status.Granted || answered(r) || r.DeletionTimestamp != nil {
			return nil, nil
		}
		return []string{newRequests}, nil
	})
	deps.Registrations.Cache().AddIndexer(keptByToken, func(r *fleet.ClusterRegistration) ([]string, error) {
		if !isKept(r) || r.DeletionTimestamp != nil {
			return nil, nil
		}
		return []string{keptKey(r, grantedReason(r) != reasonTokenUnknown)}, nil
	})
	deps.Registrations.Cache().AddIndexer(homelessRequests, func(r *fleet.ClusterRegistration) ([]string, error) {
		if reason := grantedReason(r); reason != reasonNameTaken && reason != reasonWaitDeletion {
			return nil, nil
		}
		return []string{r.Namespace}, nil
	})
}

func addDenialIndexers(deps Deps) {
	deps.Registrations.Cache().AddIndexer(deniedRequests, func(r *fleet.ClusterRegistration) ([]string, error) {
		if !denied(r) {
			return nil, nil
		}
		return []string{identityKey(r)}, nil
	})
	deps.Registrations.Cache().AddIndexer(heldByDenial, func(r *fleet.ClusterRegistration) ([]string, error) {
		if grantedReason(r) != reasonIdentityDenied {
			return nil, nil
		}
		return []string{identityKey(r)}, nil
	})
}

// isSettled says that a request is granted and its credential in use.
func isSettled(r *fleet.ClusterRegistration) bool {
	return r.Status.Granted && conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
}

// grantedReason is why a request is not granted, empty where it is, or where nothing is said yet.
func grantedReason(r *fleet.ClusterRegistration) string {
	c := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
	if c == nil || r.Status.Granted {
		return ""
	}
	return c.Reason
}
