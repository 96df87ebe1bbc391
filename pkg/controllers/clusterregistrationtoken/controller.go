package clusterregistrationtoken

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/apply"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/desired"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const handlerName = "fleet-registration-token"

// tokensByPart indexes tokens by the namespace and name of everything that is made for them.
const tokensByPart = "fleet.token.parts"

// partsDelay gathers the events of what was just made for a token, and lets the cache catch up with the token itself:
// without it every other pass tries to write the status again.
const partsDelay = time.Second

// Deps is what this controller works with.
type Deps struct {
	Tokens       fleetv1.ClusterRegistrationTokenController
	Accounts     core.ServiceAccountController
	Secrets      core.SecretController
	Roles        rbac.RoleController
	RoleBindings rbac.RoleBindingController
	Apply        apply.Apply
	// Clients requests tokens.
	Clients kubernetes.Interface
	Config  *config.Source
	Clock   clock.PassiveClock
	Events  record.EventRecorder
	Names   names.Namespaces
	// TTLRequired deletes tokens without an end.
	TTLRequired bool
	// Provenance is what the hub knows of whether requests name their own token.
	Provenance provenance
}

// provenance is known at any time, and tells when it changes.
type provenance interface {
	Current() registration.Provenance
	Subscribe(call func())
}

// set is the apply set of the account and its permissions.
type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
	Remove(ctx context.Context, ownerGVK schema.GroupVersionKind, ownerNamespace, ownerName string) error
}

// minter requests a token of an account.
type minter func(ctx context.Context, namespace, account string, life time.Duration) (kube.Minted, error)

type handler struct {
	Deps
	ctx  context.Context
	set  set
	mint minter
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{Deps: deps, ctx: ctx}
	h.set = desired.New(deps.Apply, desired.Set{
		ID:              names.SetToken,
		Kinds:           []apply.InformerGetter{deps.Accounts, deps.Roles, deps.RoleBindings},
		OwnerReferences: true,
	})
	h.mint = func(ctx context.Context, namespace, account string, life time.Duration) (kube.Minted, error) {
		return kube.Mint(ctx, deps.Clients, namespace, account, life)
	}
	deps.Tokens.Cache().AddIndexer(tokensByPart, h.partKeys)
	deps.Tokens.OnChange(ctx, handlerName, h.onChange)
	kube.Watch(ctx, handlerName+"-parts", h.tokensOf, kube.Debounced(deps.Tokens, partsDelay),
		deps.Accounts, deps.Secrets, deps.Roles, deps.RoleBindings)
	kube.Watch(ctx, handlerName+"-filled", h.tokensOfFilled, kube.Debounced(deps.Tokens, 0), deps.Secrets)
	deps.Config.Subscribe("registration tokens", h.onConfig)
	deps.Provenance.Subscribe(h.onProvenance)
}

// partKeys are the objects that belong to a token, by namespace and name alone: the names are the token's own.
func (h *handler) partKeys(token *fleet.ClusterRegistrationToken) ([]string, error) {
	account := accountName(token)
	return []string{
		h.Names.Registration + "/" + account,
		h.Names.Registration + "/" + names.AccountToken(account),
		token.Namespace + "/" + names.ImportRole(account),
		token.Namespace + "/" + names.ImportRoleBinding(account),
		token.Namespace + "/" + token.Name,
	}, nil
}

// tokensOf works without the object, and so also for one that was deleted or has lost its labels.
func (h *handler) tokensOf(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	tokens, err := h.Tokens.Cache().GetByIndex(tokensByPart, namespace+"/"+name)
	if err != nil {
		return nil, fmt.Errorf("looking for the registration token of %s/%s: %w", namespace, name, err)
	}
	var keys []relatedresource.Key
	for _, token := range tokens {
		keys = append(keys, relatedresource.NewKey(token.Namespace, token.Name))
	}
	return keys, nil
}

// tokensOfFilled is for what is waited for: a service-account-token Secret that has its token.
func (h *handler) tokensOfFilled(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	secret, ok := obj.(*corev1.Secret)
	if !ok || secret == nil || secret.Type != corev1.SecretTypeServiceAccountToken || len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
		return nil, nil
	}
	return h.tokensOf(namespace, name, obj)
}

// onProvenance has every token looked at: their status says whether the origin of requests is checked.
func (h *handler) onProvenance() {
	if err := h.lookAtAll(); err != nil {
		logrus.Errorf("Telling whether the origin of requests is checked: %v", err) // the list is of a cache
	}
}

// onConfig has every token looked at: the hub's address is in their Secrets.
func (h *handler) onConfig(context.Context, config.Config) error { return h.lookAtAll() }

func (h *handler) lookAtAll() error {
	tokens, err := h.Tokens.Cache().List(metav1.NamespaceAll, labels.Everything())
	if err != nil {
		return fmt.Errorf("listing registration tokens: %w", err)
	}
	for _, token := range tokens {
		h.Tokens.EnqueueAfter(token.Namespace, token.Name, 0)
	}
	return nil
}

func (h *handler) onChange(key string, token *fleet.ClusterRegistrationToken) (*fleet.ClusterRegistrationToken, error) {
	if token == nil {
		return nil, h.forget(key)
	}
	in, err := h.observe(token)
	if err != nil {
		return token, fmt.Errorf("registration token %s: %w", key, err)
	}
	if err := h.apply(in, decide(in)); err != nil {
		return token, fmt.Errorf("registration token %s: %w", key, err)
	}
	return token, nil
}

func (h *handler) observe(token *fleet.ClusterRegistrationToken) (input, error) {
	cfg := h.Config.Get()
	in := input{
		token:       token,
		now:         h.Clock.Now(),
		names:       h.Names,
		ttlRequired: h.TTLRequired,
		serverURL:   cfg.APIServerURL,
		serverCA:    cfg.APIServerCA,
		config:      cfg,
		provenance:  h.Provenance.Current(),
	}
	account := accountName(token)
	var err error
	if in.account, err = found(h.Accounts.Cache().Get(h.Names.Registration, account)); err != nil {
		return in, fmt.Errorf("reading ServiceAccount %s/%s: %w", h.Names.Registration, account, err)
	}
	if in.values, err = found(h.Secrets.Cache().Get(token.Namespace, token.Name)); err != nil {
		return in, fmt.Errorf("reading Secret %s/%s: %w", token.Namespace, token.Name, err)
	}
	endless := names.AccountToken(account)
	if in.endless, err = found(h.Secrets.Cache().Get(h.Names.Registration, endless)); err != nil {
		return in, fmt.Errorf("reading Secret %s/%s: %w", h.Names.Registration, endless, err)
	}
	return in, nil
}

// observeAccount reads the account past the cache, which may not show yet what was made a moment ago.
func (h *handler) observeAccount(in input) (input, error) {
	account, err := found(h.Accounts.Get(h.Names.Registration, accountName(in.token), metav1.GetOptions{}))
	if err != nil {
		return in, fmt.Errorf("reading ServiceAccount %s/%s: %w", h.Names.Registration, accountName(in.token), err)
	}
	in.account = account
	return in, nil
}

// observeLive reads the token's Secret past the cache, for the same reason.
func (h *handler) observeLive(in input) (input, error) {
	values, err := found(h.Secrets.Get(in.token.Namespace, in.token.Name, metav1.GetOptions{}))
	if err != nil {
		return in, fmt.Errorf("reading Secret %s/%s: %w", in.token.Namespace, in.token.Name, err)
	}
	in.values = values
	return in, nil
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}
