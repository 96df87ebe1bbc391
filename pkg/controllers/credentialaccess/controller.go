package credentialaccess

import (
	"context"
	"fmt"
	"slices"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	handlerName = "fleet-credential-access"

	// Indexes by import account.
	secretsByAccount  = "fleet.credentialaccess.secrets"
	rolesByAccount    = "fleet.credentialaccess.roles"
	bindingsByAccount = "fleet.credentialaccess.bindings"

	// tokenKind is the kind of the owner of an import account.
	tokenKind = "ClusterRegistrationToken"
)

// Deps is what this controller works with.
type Deps struct {
	Accounts     core.ServiceAccountController
	Secrets      core.SecretController
	Roles        rbac.RoleController
	RoleBindings rbac.RoleBindingController
	Tokens       fleetv1.ClusterRegistrationTokenController
	Names        names.Namespaces
}

type handler struct{ Deps }

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{deps}
	h.addIndexers()
	deps.Accounts.OnChange(ctx, handlerName, h.onAccount)
	now := kube.Debounced(deps.Accounts, 0)
	kube.Watch(ctx, handlerName+"-parts", h.accountOf, now, deps.Secrets, deps.Roles, deps.RoleBindings)
}

func (h *handler) addIndexers() {
	h.Secrets.Cache().AddIndexer(secretsByAccount, func(s *corev1.Secret) ([]string, error) {
		if s.Type != names.CredentialSecretType || s.DeletionTimestamp != nil {
			return nil, nil
		}
		return h.accountsOf(s), nil
	})
	h.Roles.Cache().AddIndexer(rolesByAccount, func(r *rbacv1.Role) ([]string, error) { return h.accountsOf(r), nil })
	h.RoleBindings.Cache().AddIndexer(bindingsByAccount, func(b *rbacv1.RoleBinding) ([]string, error) { return h.accountsOf(b), nil })
}

// accountsOf is the import account that an object is for. Only the hub writes into the registration namespace, so that
// only there the annotation is its own.
func (h *handler) accountsOf(obj metav1.Object) []string {
	name := obj.GetAnnotations()[names.ImportAccountAnnotation]
	if name == "" || obj.GetNamespace() != h.Names.Registration {
		return nil
	}
	return []string{name}
}

func (h *handler) accountOf(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	object, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	var keys []relatedresource.Key
	for _, name := range h.accountsOf(object) {
		keys = append(keys, relatedresource.NewKey(h.Names.Registration, name))
	}
	return keys, nil
}

func (h *handler) onAccount(key string, account *corev1.ServiceAccount) (*corev1.ServiceAccount, error) {
	k := relatedresource.FromString(key)
	if k.Namespace != h.Names.Registration {
		return account, nil
	}
	in, err := h.observe(k.Name, account)
	if err != nil {
		return account, fmt.Errorf("access of import account %s to its credentials: %w", key, err)
	}
	if in.unknown || in.account == nil && len(in.roles)+len(in.bindings) == 0 {
		return account, nil
	}
	if err := h.apply(in, decide(in)); err != nil {
		return account, fmt.Errorf("access of import account %s to its credentials: %w", key, err)
	}
	return account, nil
}

// observe gathers what concerns an account. An account that is none of a token has no access, and nobody's is taken away
// because of a cache that shows no account: that is asked of the API server.
func (h *handler) observe(name string, account *corev1.ServiceAccount) (input, error) {
	in := input{roles: map[string]*rbacv1.Role{}, bindings: map[string]*rbacv1.RoleBinding{}}
	roles, err := h.Roles.Cache().GetByIndex(rolesByAccount, name)
	if err != nil {
		return in, fmt.Errorf("listing Roles: %w", err)
	}
	for _, r := range roles {
		in.roles[r.Name] = r
	}
	bindings, err := h.RoleBindings.Cache().GetByIndex(bindingsByAccount, name)
	if err != nil {
		return in, fmt.Errorf("listing RoleBindings: %w", err)
	}
	for _, b := range bindings {
		in.bindings[b.Name] = b
	}
	if account == nil && len(roles)+len(bindings) > 0 {
		account, err = h.Accounts.Get(h.Names.Registration, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			account, err = nil, nil
		}
		if err != nil {
			return in, fmt.Errorf("looking whether it is gone: %w", err)
		}
	}
	if account == nil {
		return in, nil
	}
	return h.observeToken(in, account)
}

// observeToken finds the token that the account is of. An account that does not say whose it is keeps what it has.
func (h *handler) observeToken(in input, account *corev1.ServiceAccount) (input, error) {
	owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation])
	if !ok || owner.Kind != tokenKind {
		in.unknown = true
		return in, nil
	}
	token, err := h.tokenOf(owner)
	if err != nil || token == nil {
		return in, err // it goes with the token
	}
	cluster, _ := registration.MadeForCluster(token)
	in.account, in.stays = account, cluster == ""
	secrets, err := h.Secrets.Cache().GetByIndex(secretsByAccount, account.Name)
	if err != nil {
		return in, fmt.Errorf("listing credentials: %w", err)
	}
	for _, s := range secrets {
		in.waiting = append(in.waiting, s.Name)
	}
	slices.Sort(in.waiting)
	return in, nil
}

// tokenOf is the very token that an owner's note names, nil where it is gone: that is asked of the API server.
func (h *handler) tokenOf(owner names.OwnerRef) (*fleet.ClusterRegistrationToken, error) {
	is := func(token *fleet.ClusterRegistrationToken) bool {
		return owner.UID == "" || string(token.UID) == owner.UID
	}
	token, err := h.Tokens.Cache().Get(owner.Namespace, owner.Name)
	if err == nil && is(token) {
		return token, nil
	}
	token, err = h.Tokens.Get(owner.Namespace, owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !is(token) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading token %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	return token, nil
}
