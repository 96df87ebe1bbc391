package desired

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/rancher/wrangler/v3/pkg/generic"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Keep is what a generating handler returns to say: leave everything as it is. To return nothing instead would mean that
// nothing should exist. It is compared by value in places, so return it as it is, unwrapped.
var Keep = generic.ErrSkip

// ErrEmpty says that Apply was called without an object. Who means that use Remove.
var ErrEmpty = errors.New("an empty set would delete all that it held: call Remove to do that")

// Set describes a family of generated objects.
type Set struct {
	// ID is part of the identity of each object on the cluster (see pkg/names): a changed ID orphans them.
	ID string
	// Kinds are all kinds that the set may ever hold, by their controllers, in the order in which Remove takes them away. An object of a kind that is not listed is
	// refused, since it would never be removed again. A kind stays listed after the last object of it is gone from the code.
	Kinds []apply.InformerGetter
	// OwnerReferences makes the owner an ownerReference of each object in its namespace (of every object, if the owner has
	// no namespace), neither controlling nor blocking. No reference crosses namespaces: the garbage collector would take
	// the object for an orphan.
	OwnerReferences bool
}

// Owner is the object that the objects of a set belong to.
type Owner interface {
	runtime.Object
	metav1.Object
}

// Applier applies one Set, for any number of owners at once.
type Applier struct {
	set    Set
	kinds  map[schema.GroupVersionKind]kind
	engine apply.Apply
	// removers take objects of one kind away each, in the order in which the kinds were declared.
	removers []remover
	gate     gate
}

type remover struct {
	kind   schema.GroupVersionKind
	engine apply.Apply
}

// New prepares a set. It must be called before the caches start, since it makes sure that the kinds are cached and adds
// an index to them.
func New(root apply.Apply, set Set) *Applier {
	base := root.
		WithSetID(set.ID).
		WithStrictCaching().
		WithRateLimiting(kube.ApplyRate).
		WithNoDeleteGVK(corev1.SchemeGroupVersion.WithKind("Namespace"))
	var removers []remover
	for _, kind := range set.Kinds {
		removers = append(removers, remover{kind: kind.GroupVersionKind(), engine: base.WithCacheTypes(kind)})
	}
	return &Applier{
		set:      set,
		kinds:    kindsOf(set.Kinds),
		removers: removers,
		engine: base.
			WithCacheTypes(set.Kinds...).
			WithReconciler(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), replaceOnRoleRef).
			WithReconciler(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), replaceOnRoleRef),
		gate: gate{limit: gateLimit},
	}
}

// Apply makes the set of owner hold exactly objs; owner nil means the set that has no owner. It is done without a call
// where the cache shows all as the last Apply left it. Different owners may be applied at once.
func (a *Applier) Apply(ctx context.Context, owner Owner, objs ...runtime.Object) error {
	id, err := a.identify(owner)
	if err != nil {
		return err
	}
	wanted, err := a.inspect(objs)
	if err != nil {
		return a.wrap(owner, err)
	}
	live, err := a.look(id)
	if err != nil {
		return a.wrap(owner, err)
	}
	want, err := wanted.digest(owner)
	if err != nil {
		return a.wrap(owner, err)
	}
	now := state{wanted: want, live: live.digest()}
	if a.gate.unchanged(id, now) {
		return nil
	}
	if err := a.run(ctx, owner, objs); err != nil {
		a.gate.forget(id)
		return a.wrap(owner, err)
	}
	if live.sameNames(wanted) {
		a.gate.remember(id, now)
	} else {
		// Something was created or deleted. If that is undone before the cache has seen it, the cache looks again as it
		// does now; to remember this state would hide that.
		a.gate.forget(id)
	}
	return nil
}

// Remove deletes all that the set of that owner holds, one kind after the other in the order of Set.Kinds: a failure
// leaves the later ones standing. A zero kind and an empty name mean the set that has no owner. The owner need not exist
// any more. Where the cache shows nothing of the set, nothing is done.
func (a *Applier) Remove(ctx context.Context, ownerGVK schema.GroupVersionKind, ownerNamespace, ownerName string) error {
	var owner Owner
	if ownerName != "" {
		partial := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ownerNamespace, Name: ownerName}}
		partial.SetGroupVersionKind(ownerGVK)
		owner = partial
	}
	id, err := identity(a.set.ID, owner)
	if err != nil {
		return a.wrap(owner, err)
	}
	a.gate.forget(id)
	live, err := a.look(id)
	if err != nil {
		return a.wrap(owner, err)
	}
	for _, r := range a.removers {
		if !live.holds(r.kind) {
			continue
		}
		engine := r.engine.WithContext(ctx)
		if owner != nil {
			engine = engine.WithOwner(owner)
		}
		if err := kube.IgnoreGone(engine.ApplyObjects()); err != nil {
			return a.wrap(owner, err)
		}
	}
	return nil
}

func (a *Applier) run(ctx context.Context, owner Owner, objs []runtime.Object) error {
	engine := a.engine.WithContext(ctx)
	if owner != nil {
		engine = engine.WithOwner(owner)
	}
	if a.set.OwnerReferences {
		engine = engine.WithSetOwnerReference(false, false)
	}
	return kube.IgnoreGone(engine.ApplyObjects(objs...))
}

// Stats counts how often the engine ran and how often there was nothing to do.
func (a *Applier) Stats() (applied, skipped uint64) { return a.gate.stats() }

func (a *Applier) wrap(owner Owner, err error) error {
	if owner == nil {
		return fmt.Errorf("set %s: %w", a.set.ID, err)
	}
	return fmt.Errorf("set %s of %s/%s: %w", a.set.ID, owner.GetNamespace(), owner.GetName(), err)
}
