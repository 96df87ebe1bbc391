package clusterregistration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/apply"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

const (
	handlerName = "fleet-cluster-registration"
	// cacheLag is when a cache has surely seen what was there before.
	cacheLag = time.Second
	// shortWait is how long another controller may take before it is told that a request waits for it. A namespace is made
	// within milliseconds, and when hundreds join at once within seconds: to write down each time that it was awaited would
	// make all of them wait longer.
	shortWait = 10 * time.Second
	// sweep is how often a grant is looked at beside the events of its parts: a deletion that a broken watch missed has no
	// event that says whose the object was. A look that finds all in order costs no request.
	sweep = 10 * time.Minute
	// workspaceShare is how many requests of one workspace are worked on at once. The other workers are for all others.
	workspaceShare = kube.DefaultWorkers * 4 / 5
)

// Deps is what this controller works with.
type Deps struct {
	Registrations fleetv1.ClusterRegistrationController
	Clusters      fleetv1.ClusterController
	Tokens        fleetv1.ClusterRegistrationTokenController
	Accounts      core.ServiceAccountController
	Secrets       core.SecretController
	Namespaces    core.NamespaceController
	Roles         rbac.RoleController
	RoleBindings  rbac.RoleBindingController
	Clients       kubernetes.Interface
	Apply         apply.Apply
	Config        *config.Source
	Names         names.Namespaces
	Clock         clock.PassiveClock
	// HubUID is the UID of the hub's kube-system namespace.
	HubUID string
	// Provenance is what the hub knows of whether requests name their own token.
	Provenance provenance
}

// set makes a set of objects exist, or takes it away.
type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
	Remove(ctx context.Context, ownerGVK schema.GroupVersionKind, ownerNamespace, ownerName string) error
}

type handler struct {
	Deps
	minter *minter
	recent *kube.Recent[*fleet.ClusterRegistration]
	// turns keep the requests of one workspace from holding up those of another.
	turns *kube.Turns
	// refusals are the Clusters that the API server did not take.
	refusals *refusals
	births   births
	// grants are the accounts and their rights in their clusters' namespaces, reports the right to report in a status.
	grants, reports set
	ctx             context.Context
}

func newHandler(ctx context.Context, deps Deps, grants, reports set) *handler {
	return &handler{
		Deps: deps, minter: newMinter(deps), recent: kube.NewRecent[*fleet.ClusterRegistration](),
		turns:    kube.NewTurns(workspaceShare, func(namespace, name string) { deps.Registrations.EnqueueAfter(namespace, name, 0) }),
		refusals: &refusals{by: map[string]refusal{}},
		grants:   grants, reports: reports, ctx: ctx,
	}
}

// Register starts the controller with the factories behind deps. What it returns says how many agents asked lately and have
// no answer yet, once the caches are filled.
func Register(ctx context.Context, deps Deps) (waiting func() int) {
	// The order of kinds is the order in which they are taken away: what binds first, the account last.
	h := newHandler(ctx, deps,
		desired.New(deps.Apply, desired.Set{ID: names.SetGrant, Kinds: []apply.InformerGetter{deps.RoleBindings, deps.Accounts}}),
		desired.New(deps.Apply, desired.Set{ID: names.SetReport, Kinds: []apply.InformerGetter{deps.RoleBindings, deps.Roles}}),
	)
	addIndexers(deps)
	deps.Registrations.OnChange(ctx, handlerName, h.onChange)
	now := kube.Debounced(deps.Registrations, 0)
	kube.Watch(ctx, handlerName+"-parts", h.requestsOfPart, now, deps.Accounts, deps.Roles, deps.RoleBindings, deps.Secrets)
	kube.Watch(ctx, handlerName+"-clusters", h.requestsOfCluster, now, deps.Clusters)
	kube.Watch(ctx, handlerName+"-namespaces", h.requestsOfNamespace, now, deps.Namespaces)
	kube.Watch(ctx, handlerName+"-denials", h.requestsOfDenial, now, deps.Registrations)
	deps.Config.Subscribe(handlerName, h.onConfig)
	deps.Provenance.Subscribe(h.onProvenance)
	kube.Watch(ctx, handlerName+"-tokens", h.requestsOfToken, now, deps.Tokens)
	return h.waiting
}

func (h *handler) onChange(key string, r *fleet.ClusterRegistration) (*fleet.ClusterRegistration, error) {
	place := relatedresource.FromString(key)
	if r == nil {
		h.refusals.forget(key)
		h.births.forget(key)
		h.turns.Forget(place.Namespace, place.Name)
		return nil, errors.Join(h.afterDeletion(place), h.tellCrowdsAfterDeletion(place.Namespace))
	}
	if !h.turns.Enter(place.Namespace, place.Name) {
		return r, nil // it is called
	}
	defer h.turns.Leave(place.Namespace)
	h.births.note(r)
	if h.recent.IsBehind(r) {
		h.Registrations.EnqueueAfter(r.Namespace, r.Name, kube.RecentLife)
		return r, nil
	}
	in, err := h.observe(r)
	if err != nil {
		return r, fmt.Errorf("registration %s: %w", key, err)
	}
	if err := errors.Join(h.apply(in, decide(in)), h.tellCrowdOf(in)); err != nil {
		return r, fmt.Errorf("registration %s: %w", key, err)
	}
	return r, nil
}

// onConfig has requests looked at again that are not granted or whose credential nobody uses: what they must bring may have
// changed, and how long they are kept.
func (h *handler) onConfig(context.Context, config.Config) error { return h.lookAtOpen() }

func (h *handler) lookAtOpen() error {
	requests, err := h.Registrations.Cache().GetByIndex(openRequests, openRequests)
	if err != nil {
		return fmt.Errorf("listing registrations: %w", err)
	}
	for _, r := range requests {
		h.Registrations.EnqueueAfter(r.Namespace, r.Name, 0)
	}
	return nil
}

func (h *handler) apply(in input, d decision) error {
	if end, ends := endOf(in, d); ends {
		if left := end.Sub(in.now); left > 0 {
			h.Registrations.EnqueueAfter(in.request.Namespace, in.request.Name, left)
		} else if done, err := h.collect(in, d); done || err != nil {
			return err
		}
	}
	switch d.outcome {
	case skip:
		return nil
	case create:
		if full, err := h.countUse(in, d); full || err != nil {
			return err
		}
		return h.createCluster(in, d)
	case revoke:
		if err := h.takeBackAll(in.request); err != nil {
			return err
		}
		if d.forget {
			return h.forget(in.request)
		}
	case grant:
		if full, err := h.countUse(in, d); full || err != nil {
			return err
		}
		return h.applyGrant(in, d)
	case wait:
		left := shortWait - in.now.Sub(in.request.CreationTimestamp.Time)
		if left > 0 && left <= shortWait && !answered(in.request) { // a clock that is behind must not hide the wait
			h.Registrations.EnqueueAfter(in.request.Namespace, in.request.Name, left)
			return nil
		}
	}
	return h.report(in, d, nil)
}

// answered says that the hub has said something about a request.
func answered(r *fleet.ClusterRegistration) bool {
	return conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted) != nil
}

func (h *handler) applyGrant(in input, d decision) error {
	h.Registrations.EnqueueAfter(in.request.Namespace, in.request.Name, sweep)
	if d.pin != nil {
		if err := h.writePin(d.cluster, *d.pin); err != nil {
			return err
		}
	}
	record, err := h.give(in, d.cluster)
	switch {
	case errors.Is(err, errForeignCredential):
		return h.report(in, decision{outcome: refuse, cluster: d.cluster, reason: registration.ReasonCredentialConflict,
			message: err.Error() + "; the agent asks again with a random of its own by itself"}, nil)
	case errors.Is(err, kube.ErrTokenPending):
		d.pending = true
		return h.report(in, d, nil) // the event of its Secret comes back to it
	case err != nil:
		return fmt.Errorf("granting: %w", err)
	case isUsed(in.request):
		return h.settle(in, d)
	case record == nil:
		return h.withdraw(in, d)
	}
	// Somebody may have deleted the Secret before the cache showed it; then no event tells so.
	h.Registrations.EnqueueAfter(in.request.Namespace, in.request.Name, kube.RecentLife+time.Second)
	return h.report(in, d, record)
}

// give makes what a grant consists of, and returns the credential that waits for the agent, nil where none is to.
//
// Who writes a Role waits until the API server has looked whether it may, which takes up to a tenth of a second, and as
// long again for its binding. The agent first needs its account and its namespace.
func (h *handler) give(in input, cluster *fleet.Cluster) (*fleet.CredentialRecord, error) {
	var reports errgroup.Group
	reports.Go(func() error { return h.reports.Apply(h.ctx, in.request, reportObjects(in, cluster)...) })
	record, err := h.giveAccess(in, cluster)
	if reportErr := reports.Wait(); err == nil {
		err = reportErr
	}
	return record, err
}

func (h *handler) giveAccess(in input, cluster *fleet.Cluster) (*fleet.CredentialRecord, error) {
	if err := h.grants.Apply(h.ctx, in.request, grantObjects(in, cluster)...); err != nil {
		return nil, err
	}
	if isUsed(in.request) || in.importAccountUID == "" {
		return nil, nil
	}
	record, err := h.minter.ensure(h.ctx, in, cluster)
	if err != nil {
		return nil, err
	}
	return &record, nil
}

func isUsed(r *fleet.ClusterRegistration) bool {
	return conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
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
	if err := h.minter.discard(r); err != nil {
		return err
	}
	others, err := h.Registrations.Cache().GetByIndex(requestsByClient, clientKey(r.Namespace, r.Spec.ClientID))
	if err != nil {
		return fmt.Errorf("listing registrations: %w", err)
	}
	for _, other := range others {
		if other.UID == r.UID || !h.births.older(other, r) || other.Status.ClusterName != "" && other.Status.ClusterName != d.cluster.Name {
			continue
		}
		if err := kube.Deleted(h.Registrations.Delete(other.Namespace, other.Name, kube.ByUID(other.UID))); err != nil {
			return fmt.Errorf("deleting the older registration %s: %w", other.Name, err)
		}
	}
	return h.report(in, d, nil)
}
