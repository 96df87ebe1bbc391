package cleanup

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// credentialAge is how long the Secret with a granted credential stays at least: an agent asks for 30 minutes.
	credentialAge = 40 * time.Minute
	// namespaceAge is how old a namespace is at least before it can count as left over. Where a backup is restored,
	// namespaces come first and their Clusters minutes later.
	namespaceAge = 10 * time.Minute
)

// verdict is what becomes of an object: it goes, or it stays; and if it stays, when to look at it again (0: only at the
// next round).
type verdict struct {
	remove bool
	later  time.Duration
}

var keep = verdict{}

// clusterOf is the Cluster that a namespace was made for, as its marks say. ok is false for a namespace that is not
// proven to be one of a cluster: the label and both annotations must be there, no owner may contradict them, and it must
// have the very name that the hub gives it. Marks alone prove nothing: whoever may edit a namespace could have the hub
// delete it.
func clusterOf(ns *corev1.Namespace, hub names.Namespaces) (ref names.OwnerRef, ok bool) {
	if !isManaged(ns) || ns.Name == hub.System || ns.Name == hub.Registration || ns.Name == hub.Agents {
		return ref, false
	}
	workspace, cluster := ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]
	if workspace == "" || cluster == "" {
		return ref, false
	}
	ref = names.OwnerRef{Kind: kindCluster, Namespace: workspace, Name: cluster}
	if owner, marked := names.ParseOwnerRef(ns.Annotations[names.OwnerAnnotation]); marked {
		ref.UID = owner.UID
		if owner.Kind != kindCluster || owner.Namespace != workspace || owner.Name != cluster {
			return ref, false
		}
	}
	round, err := registration.RoundOf(ns)
	return ref, err == nil && ns.Name == names.ClusterPlace(workspace, cluster, round)
}

// judgeNamespace: cluster is what workspace and name in the namespace's marks stand for now, nil for nothing. A Cluster
// keeps the namespace, whatever its UID: one that came back from a backup has another, and what lies in there cannot be
// had again. It waits, and its condition says what a person can do.
func judgeNamespace(ns *corev1.Namespace, cluster *fleet.Cluster, now time.Time) verdict {
	if ns.DeletionTimestamp != nil || cluster != nil {
		return keep
	}
	return atAge(now.Sub(ns.CreationTimestamp.Time), namespaceAge)
}

// judgeCredential: the Secret with a granted credential goes when its registration has used it. One without an owner is
// from an earlier version, whose agents fetch it once and soon.
func judgeCredential(secret *corev1.Secret, registration *fleet.ClusterRegistration, now time.Time) verdict {
	if secret.DeletionTimestamp != nil {
		return keep
	}
	_, owned := names.ParseOwnerRef(secret.Annotations[names.OwnerAnnotation])
	if !owned && secret.Labels[names.ClusterLabel] == "" {
		return keep
	}
	used := registration != nil && conditions.IsTrue(registration.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
	if owned && !used {
		return keep
	}
	return atAge(now.Sub(secret.CreationTimestamp.Time), credentialAge)
}

func atAge(age, least time.Duration) verdict {
	if age < least {
		return verdict{later: least - age}
	}
	return verdict{remove: true}
}

// accountClaim: an account is taken away where the hub puts its own, or where an apply set of ours put it.
func accountClaim(account *corev1.ServiceAccount, hub names.Namespaces) (names.OwnerRef, bool) {
	ref, ok := claimOf(account)
	inPlace := account.Namespace == hub.Registration || account.Namespace == hub.Agents || ref.UID == ""
	return ref, ok && inPlace && isManaged(account)
}

// secretClaim: a Secret is taken away only in the hub's own namespaces, and only by our own annotation.
func secretClaim(secret *corev1.Secret, hub names.Namespaces) (names.OwnerRef, bool) {
	if secret.Namespace != hub.Registration && secret.Namespace != hub.Agents || !isManaged(secret) {
		return names.OwnerRef{}, false
	}
	ref, ok := names.ParseOwnerRef(secret.Annotations[names.OwnerAnnotation])
	return ref, ok && isOwnerKind(ref.Kind)
}

func isCredential(secret *corev1.Secret, hub names.Namespaces) bool {
	return secret.Namespace == hub.Registration && secret.Type == names.CredentialSecretType
}

// onlyFor says that a binding gives something to this account and to nobody else.
func onlyFor(binding *rbacv1.RoleBinding, account *corev1.ServiceAccount) bool {
	if len(binding.Subjects) == 0 {
		return false
	}
	for _, subject := range binding.Subjects {
		if subject.Kind != rbacv1.ServiceAccountKind || subject.Namespace != account.Namespace || subject.Name != account.Name {
			return false
		}
	}
	return true
}
