package clusterregistrationtoken

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const kind = "ClusterRegistrationToken"

func accountName(token *fleet.ClusterRegistrationToken) string {
	return names.Account(token.Name, string(token.UID))
}

// objects are the import account and what it may do: ask for a registration, look at one whose name it knows, and name
// its own token when it asks. It lives in the hub's own namespace, where no tenant can mint a token for it; an
// ownerReference cannot reach there, so an annotation says whose it is.
func objects(in input) []runtime.Object {
	account := accountName(in.token)
	managed := map[string]string{names.ManagedLabel: "true"}
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Name:        account,
			Namespace:   in.names.Registration,
			Labels:      managed,
			Annotations: map[string]string{names.OwnerAnnotation: ownerOf(in.token)},
		}},
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: names.ImportRole(account), Namespace: in.token.Namespace, Labels: managed},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{fleet.SchemeGroupVersion.Group},
				Resources: []string{"clusterregistrations"},
				Verbs:     []string{"create", "get"},
			}, {
				APIGroups:     []string{fleet.SchemeGroupVersion.Group},
				Resources:     []string{"clusterregistrationtokens"},
				ResourceNames: []string{in.token.Name},
				Verbs:         []string{"register"},
			}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: names.ImportRoleBinding(account), Namespace: in.token.Namespace, Labels: managed},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: in.names.Registration}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: names.ImportRole(account)},
		},
	}
}

func ownerOf(token *fleet.ClusterRegistrationToken) string {
	return names.OwnerRef{Kind: kind, Namespace: token.Namespace, Name: token.Name, UID: string(token.UID)}.String()
}

// endlessSecret asks the API server's controller for a token without an end. It goes with its account.
func endlessSecret(in input) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      names.AccountToken(in.account.Name),
			Namespace: in.account.Namespace,
			Labels:    map[string]string{names.ManagedLabel: "true"},
			Annotations: map[string]string{
				corev1.ServiceAccountNameKey: in.account.Name,
				names.OwnerAnnotation:        ownerOf(in.token),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: in.account.Name, UID: in.account.UID}},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
}

// accountConflict says that the account is another token's, empty where it is not. The names of long tokens are cut and
// told apart by a short hash only.
func accountConflict(in input) string {
	if in.account == nil {
		return ""
	}
	note := in.account.Annotations[names.OwnerAnnotation]
	if _, ok := names.ParseOwnerRef(note); !ok || note == ownerOf(in.token) {
		return ""
	}
	return fmt.Sprintf("ServiceAccount %s/%s belongs to %s: create the token under another, shorter name", in.account.Namespace, in.account.Name, note)
}

// conflict says why a Secret that is needed cannot be used, empty where it can. It is never overwritten: it may be
// somebody's own.
func conflict(in input) string {
	if in.values != nil && !isValuesOf(in.values, in.token) {
		return fmt.Sprintf("Secret %s/%s exists and is not this token's (type %s, owners %s): delete it, or create the token under another name",
			in.values.Namespace, in.values.Name, in.values.Type, ownersText(in.values))
	}
	if in.endless != nil && in.endless.Type != corev1.SecretTypeServiceAccountToken {
		return fmt.Sprintf("Secret %s/%s exists and has type %s instead of %s: delete it",
			in.endless.Namespace, in.endless.Name, in.endless.Type, corev1.SecretTypeServiceAccountToken)
	}
	return ""
}

// isLeftover says that a Secret is of an earlier token of the same name. That token is gone, as this one has its name; the
// garbage collector would take the Secret too, at its own time.
func isLeftover(secret *corev1.Secret, token *fleet.ClusterRegistrationToken) bool {
	if secret == nil || secret.Type != names.ValuesSecretType || len(secret.OwnerReferences) != 1 {
		return false
	}
	owner := secret.OwnerReferences[0]
	return owner.Kind == kind && owner.Name == token.Name && owner.UID != token.UID
}

// isValuesOf says whether a Secret is the one of this token.
func isValuesOf(secret *corev1.Secret, token *fleet.ClusterRegistrationToken) bool {
	if secret.Type != names.ValuesSecretType {
		return false
	}
	for _, owner := range secret.OwnerReferences {
		if owner.UID == token.UID {
			return true
		}
	}
	return false
}

func ownersText(secret *corev1.Secret) string {
	if len(secret.OwnerReferences) == 0 {
		return "none"
	}
	var owners []string
	for _, owner := range secret.OwnerReferences {
		owners = append(owners, fmt.Sprintf("%s %s (%s)", owner.Kind, owner.Name, owner.UID))
	}
	return strings.Join(owners, ", ")
}

// valuesSecret is the token's Secret as it should be, nil where it is so already.
func valuesSecret(in input, jwt string) (*corev1.Secret, error) {
	document, err := registration.Bootstrap{
		APIServerURL:                in.serverURL,
		APIServerCA:                 in.serverCA,
		ClusterNamespace:            in.token.Namespace,
		Token:                       jwt,
		TokenName:                   in.token.Name,
		SystemRegistrationNamespace: in.names.Registration,
		SystemNamespace:             in.names.System,
	}.Values()
	if err != nil {
		return nil, err
	}
	if in.values == nil {
		return newValuesSecret(in.token, document), nil
	}
	want := in.values.DeepCopy()
	if want.Labels == nil {
		want.Labels = map[string]string{}
	}
	want.Labels[names.ManagedLabel] = "true"
	kube.DropObjectSet(want)
	if want.Data == nil {
		want.Data = map[string][]byte{}
	}
	want.Data[registration.KeyValues] = document
	if equality.Semantic.DeepEqual(in.values, want) {
		return nil, nil
	}
	return want, nil
}

func newValuesSecret(token *fleet.ClusterRegistrationToken, document []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      token.Name,
			Namespace: token.Namespace,
			Labels:    map[string]string{names.ManagedLabel: "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: fleet.SchemeGroupVersion.String(), Kind: kind, Name: token.Name, UID: token.UID,
			}},
		},
		Type: names.ValuesSecretType,
		Data: map[string][]byte{registration.KeyValues: document},
	}
}
