package clusterregistration

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/apply"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/desired"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const handlerName = "fleet-cluster-registration"

// Deps is what this controller works with.
type Deps struct {
	Registrations fleetv1.ClusterRegistrationController
	Clusters      fleetv1.ClusterController
	Tokens        fleetv1.ClusterRegistrationTokenController
	Accounts      core.ServiceAccountController
	Secrets       core.SecretController
	Roles         rbac.RoleController
	RoleBindings  rbac.RoleBindingController
	Clients       kubernetes.Interface
	Apply         apply.Apply
	Config        *config.Source
	Names         names.Namespaces
	Clock         clock.PassiveClock
	// HubUID is the UID of the hub's kube-system namespace.
	HubUID string
}

type handler struct {
	Deps
	minter *minter
	grants *desired.Applier
	access *desired.Applier
	ctx    context.Context
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{
		Deps:   deps,
		minter: &minter{Deps: deps, hubUID: deps.HubUID},
		ctx:    ctx,
		// The order of kinds is the order in which they are taken away: what binds first, the account last.
		grants: desired.New(deps.Apply, desired.Set{ID: names.SetGrant, Kinds: []apply.InformerGetter{deps.RoleBindings, deps.Roles, deps.Accounts}}),
		access: desired.New(deps.Apply, desired.Set{ID: names.SetCredential, Kinds: []apply.InformerGetter{deps.RoleBindings, deps.Roles}}),
	}
	addIndexers(deps)
	deps.Registrations.OnChange(ctx, handlerName, h.onChange)
	now := kube.Debounced(deps.Registrations, 0)
	relatedresource.Watch(ctx, handlerName+"-parts", requestOfPart, now, deps.Accounts, deps.Roles, deps.RoleBindings, deps.Secrets)
	relatedresource.Watch(ctx, handlerName+"-clusters", h.requestsOfCluster, now, deps.Clusters)
	relatedresource.Watch(ctx, handlerName+"-tokens", h.requestsOfToken, now, deps.Tokens)
}

func (h *handler) onChange(key string, r *fleet.ClusterRegistration) (*fleet.ClusterRegistration, error) {
	if r == nil {
		namespace, name := relatedresource.FromString(key).Namespace, relatedresource.FromString(key).Name
		return nil, h.takeBack(namespace, name)
	}
	in, err := h.observe(r)
	if err != nil {
		return r, fmt.Errorf("registration %s: %w", key, err)
	}
	if err := h.apply(in, decide(in)); err != nil {
		return r, fmt.Errorf("registration %s: %w", key, err)
	}
	return r, nil
}

func (h *handler) observe(r *fleet.ClusterRegistration) (input, error) {
	in := input{request: r, config: h.Config.Get(), namespaces: h.Names}
	var err error
	if in.token, err = h.tokenOf(r); err != nil {
		return in, err
	}
	if in.sameClient, err = h.clustersOf(r); err != nil {
		return in, err
	}
	if in.byName, err = found(h.Clusters.Cache().Get(r.Namespace, clusterName(r, in.token))); err != nil {
		return in, fmt.Errorf("reading cluster: %w", err)
	}
	if in.token == nil {
		return in, nil
	}
	in.tokenOwner = clusterOfToken(in.token)
	account, err := found(h.Accounts.Cache().Get(h.Names.Registration, names.Account(in.token.Name, string(in.token.UID))))
	if err != nil {
		return in, fmt.Errorf("reading the import account: %w", err)
	}
	if account != nil {
		in.importAccountUID = string(account.UID)
	}
	return in, nil
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// tokenOf is the token that a request names. An agent of before tokens had names leaves the label out; the hub's own
// token for the cluster with this client ID is then meant.
func (h *handler) tokenOf(r *fleet.ClusterRegistration) (*fleet.ClusterRegistrationToken, error) {
	name := r.Labels[names.RegistrationTokenLabel]
	if name == "" {
		clusters, err := h.Clusters.Cache().GetByIndex(clustersByClient, clientKey(r.Namespace, r.Spec.ClientID))
		if err != nil || len(clusters) == 0 {
			return nil, err
		}
		name = names.ImportToken(clusters[0].Name)
	}
	token, err := found(h.Tokens.Cache().Get(r.Namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading registration token %s: %w", name, err)
	}
	if token != nil && token.DeletionTimestamp != nil {
		return nil, nil
	}
	return token, nil
}

// clustersOf are the living Clusters with the request's client ID. That a granted request has none is read live: to take
// a grant back on a stale cache would cut a working agent off.
func (h *handler) clustersOf(r *fleet.ClusterRegistration) ([]*fleet.Cluster, error) {
	all, err := h.Clusters.Cache().GetByIndex(clustersByClient, clientKey(r.Namespace, r.Spec.ClientID))
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var living []*fleet.Cluster
	for _, c := range all {
		if c.DeletionTimestamp == nil {
			living = append(living, c)
		}
	}
	if len(living) > 0 || r.Status.ClusterName == "" {
		return living, nil
	}
	c, err := found(h.Clusters.Get(r.Namespace, r.Status.ClusterName, metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("reading cluster %s: %w", r.Status.ClusterName, err)
	}
	if c != nil && c.DeletionTimestamp == nil && c.Spec.ClientID == r.Spec.ClientID {
		living = append(living, c)
	}
	return living, nil
}

// clusterOfToken is the UID of the Cluster that the hub made a token for.
func clusterOfToken(t *fleet.ClusterRegistrationToken) string {
	for _, ref := range t.OwnerReferences {
		if ref.Kind == "Cluster" && t.Name == names.ImportToken(ref.Name) {
			return string(ref.UID)
		}
	}
	return ""
}

func (h *handler) apply(in input, d decision) error {
	switch d.outcome {
	case skip:
		return nil
	case create:
		_, err := h.Clusters.Create(d.cluster)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating cluster %s: %w", d.cluster.Name, err)
		}
		return nil // the Cluster's event brings the request back
	case revoke:
		if err := h.takeBack(in.request.Namespace, in.request.Name); err != nil {
			return err
		}
	case grant:
		return h.applyGrant(in, d)
	}
	return h.report(in, d, nil)
}

func (h *handler) applyGrant(in input, d decision) error {
	if d.pin != nil {
		if err := h.writePin(d.cluster, *d.pin); err != nil {
			return err
		}
	}
	if err := h.grants.Apply(h.ctx, in.request, grantObjects(in, d.cluster)...); err != nil {
		return fmt.Errorf("granting: %w", err)
	}
	if conditions.IsTrue(in.request.Status.Conditions, fleet.RegistrationConditionCredentialUsed) {
		return h.settle(in, d)
	}
	if in.importAccountUID == "" {
		return h.report(in, d, nil)
	}
	record, err := h.minter.ensure(h.ctx, in, d.cluster)
	if errors.Is(err, errForeignCredential) {
		return h.report(in, decision{outcome: refuse, cluster: d.cluster, reason: "CredentialConflict",
			message: err.Error() + "; the agent must ask again with a random of its own"}, nil)
	}
	if err != nil {
		return err
	}
	if err := h.access.Apply(h.ctx, in.request, accessObjects(in, d.cluster)...); err != nil {
		return fmt.Errorf("letting the import account read the credential: %w", err)
	}
	return h.report(in, d, &record)
}

func (h *handler) writePin(cluster *fleet.Cluster, pin registration.Pin) error {
	updated := cluster.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[names.IdentityAnnotation] = pin.Annotation()
	if _, err := h.Clusters.Update(updated); err != nil {
		return fmt.Errorf("binding cluster %s to its agent's key: %w", cluster.Name, err)
	}
	return nil
}

// settle is for a credential that is in use: what carried it goes, and what older requests of this cluster had.
func (h *handler) settle(in input, d decision) error {
	r := in.request
	if err := h.access.Remove(h.ctx, registrationKind, r.Namespace, r.Name); err != nil {
		return fmt.Errorf("taking back the import account's access: %w", err)
	}
	if err := h.minter.discard(r); err != nil {
		return err
	}
	others, err := h.Registrations.Cache().GetByIndex(requestsByClient, clientKey(r.Namespace, r.Spec.ClientID))
	if err != nil {
		return fmt.Errorf("listing registrations: %w", err)
	}
	for _, other := range others {
		if other.UID == r.UID || !older(other, r) {
			continue
		}
		if err := h.Registrations.Delete(other.Namespace, other.Name, kube.ByUID(other.UID)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the older registration %s: %w", other.Name, err)
		}
	}
	return h.report(in, d, nil)
}

func older(a, b *fleet.ClusterRegistration) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// takeBack removes all that a request was given: bindings first, then the account, then the credential.
func (h *handler) takeBack(namespace, name string) error {
	if err := h.grants.Remove(h.ctx, registrationKind, namespace, name); err != nil {
		return fmt.Errorf("taking back the grant of %s/%s: %w", namespace, name, err)
	}
	if err := h.access.Remove(h.ctx, registrationKind, namespace, name); err != nil {
		return fmt.Errorf("taking back the access of %s/%s: %w", namespace, name, err)
	}
	return h.minter.discardByOwner(namespace, name)
}
