package credentialaccess

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

var hub = names.NamespacesOf(names.DefaultSystemNamespace)

const accountName = "people-uid"

func importAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hub.Registration, Name: accountName, UID: "account-uid",
		Annotations: map[string]string{
			names.OwnerAnnotation: names.OwnerRef{Kind: tokenKind, Namespace: "fleet-default", Name: "people", UID: "token-uid"}.String(),
		},
	}}
}

func credential(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: hub.Registration, Name: name, Annotations: map[string]string{names.ImportAccountAnnotation: accountName},
		},
		Type: names.CredentialSecretType,
	}
}

// world is a hub in memory with this controller, one token and its import account.
type world struct {
	*handler
	accounts *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	secrets  *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	roles    *controllertest.Controller[*rbacv1.Role, *rbacv1.RoleList]
	bindings *controllertest.Controller[*rbacv1.RoleBinding, *rbacv1.RoleBindingList]
	tokens   *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
}

func newWorld(owners ...metav1.OwnerReference) *world {
	w := &world{
		accounts: controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		secrets:  controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		roles:    controllertest.New[*rbacv1.Role, *rbacv1.RoleList](rbacv1.GroupName, "roles"),
		bindings: controllertest.New[*rbacv1.RoleBinding, *rbacv1.RoleBindingList](rbacv1.GroupName, "rolebindings"),
		tokens:   controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](fleet.SchemeGroupVersion.Group, "clusterregistrationtokens"),
	}
	w.handler = &handler{Deps{
		Accounts: w.accounts, Secrets: w.secrets, Roles: w.roles, RoleBindings: w.bindings, Tokens: w.tokens, Names: hub,
	}}
	w.addIndexers()
	w.accounts.Add(importAccount())
	w.tokens.Add(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fleet-default", Name: "people", UID: "token-uid", OwnerReferences: owners,
	}})
	return w
}

// token has the account be that of a token of another name.
func (w *world) token(name string) {
	token := w.tokens.Live("fleet-default", "people")
	w.tokens.Remove("fleet-default", "people")
	token.Name = name
	w.tokens.Add(token)
	account := importAccount()
	account.Annotations[names.OwnerAnnotation] = names.OwnerRef{Kind: tokenKind, Namespace: "fleet-default", Name: name, UID: "token-uid"}.String()
	w.accounts.Add(account)
}

// run runs the handler as the cache has the account.
func (w *world) run(t *testing.T) {
	t.Helper()
	account, _ := w.accounts.Cache().Get(hub.Registration, accountName)
	_, err := w.onAccount(hub.Registration+"/"+accountName, account)
	require.NoError(t, err)
}

// readable are the names that the account may read, over all its Roles that are bound to it.
func (w *world) readable() []string {
	var all []string
	for _, b := range w.allBindings() {
		role := w.roles.Live(b.Namespace, b.RoleRef.Name)
		if role == nil || b.Subjects[0].Name != accountName || b.Subjects[0].Namespace != hub.Registration {
			continue
		}
		for _, rule := range role.Rules {
			if len(rule.ResourceNames) == 0 {
				return []string{"everything"}
			}
			all = append(all, rule.ResourceNames...)
		}
	}
	return all
}

func (w *world) allBindings() []*rbacv1.RoleBinding {
	w.bindings.Sync()
	bindings, _ := w.RoleBindings.Cache().GetByIndex(bindingsByAccount, accountName)
	return bindings
}
