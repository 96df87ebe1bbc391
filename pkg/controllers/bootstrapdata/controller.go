package bootstrapdata

import (
	"context"
	"fmt"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/apply"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/desired"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-bootstrap-data"

// everything is the key under which all of it is looked at, so that this never happens twice at once.
const everything = names.BundleDeploymentClusterRole

// Deps is what this controller works with.
type Deps struct {
	ClusterRoles        rbac.ClusterRoleController
	ClusterRoleBindings rbac.ClusterRoleBindingController
	Namespaces          core.NamespaceController
	Apply               apply.Apply
	Names               names.Namespaces
}

type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
}

type handler struct {
	Deps
	ctx context.Context
	set set
}

// Register makes sure that the hub's namespaces exist, and starts the controller. The set has no owner: it is part of
// every hub, and belongs to nothing that could be deleted.
func Register(ctx context.Context, deps Deps) error {
	h := &handler{Deps: deps, ctx: ctx}
	h.set = desired.New(deps.Apply, desired.Set{
		ID:    names.SetBootstrapData,
		Kinds: []apply.InformerGetter{deps.ClusterRoles, deps.ClusterRoleBindings},
	})
	for _, name := range namespaces(deps.Names) {
		_, err := deps.Namespaces.Get(name, metav1.GetOptions{})
		if err := h.createIfMissing(name, err); err != nil {
			return err
		}
	}
	deps.ClusterRoles.OnChange(ctx, handlerName, h.onChange)
	deps.ClusterRoles.EnqueueAfter(everything, 0)
	kube.WatchClusterScoped(ctx, handlerName+"-parts", h.partOf, kube.DebouncedClusterScoped(deps.ClusterRoles, 0),
		deps.ClusterRoleBindings, deps.Namespaces)
	return nil
}

// partOf goes by the name: the object may be gone.
func (h *handler) partOf(_, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	if name != names.ContentClusterRoleBinding && !slices.Contains(namespaces(h.Names), name) {
		return nil, nil
	}
	return []relatedresource.Key{{Name: everything}}, nil
}

func (h *handler) onChange(key string, role *rbacv1.ClusterRole) (*rbacv1.ClusterRole, error) {
	switch key {
	case names.ContentClusterRole:
		h.ClusterRoles.EnqueueAfter(everything, 0)
		return role, nil
	case everything:
		return role, h.reconcile()
	}
	return role, nil
}

func (h *handler) reconcile() error {
	for _, name := range namespaces(h.Names) {
		_, err := h.Namespaces.Cache().Get(name)
		if err := h.createIfMissing(name, err); err != nil {
			return err
		}
	}
	return h.set.Apply(h.ctx, nil, objects(h.Names)...)
}

// createIfMissing takes the error of a Get. A namespace that exists is left as it is, whoever made it.
func (h *handler) createIfMissing(name string, err error) error {
	if apierrors.IsNotFound(err) {
		_, err = h.Namespaces.Create(namespace(name))
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}
