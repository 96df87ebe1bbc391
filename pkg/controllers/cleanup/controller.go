package cleanup

import (
	"context"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbac "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"

	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-cleanup"

// bindingsBySubject indexes RoleBindings by the accounts that they are for.
const bindingsBySubject = "fleet.cleanup.subjects"

// Deps is what this controller works with.
type Deps struct {
	Clusters            fleetv1.ClusterController
	Registrations       fleetv1.ClusterRegistrationController
	Tokens              fleetv1.ClusterRegistrationTokenController
	Namespaces          core.NamespaceController
	Accounts            core.ServiceAccountController
	Secrets             core.SecretController
	Roles               rbac.RoleController
	RoleBindings        rbac.RoleBindingController
	ClusterRoles        rbac.ClusterRoleController
	ClusterRoleBindings rbac.ClusterRoleBindingController
	Clock               clock.WithTicker
	Names               names.Namespaces
}

type handler struct{ Deps }

// Register starts the controller with the factories behind deps, and its rounds, which end with ctx.
func Register(ctx context.Context, deps Deps) {
	h := &handler{deps}
	deps.RoleBindings.Cache().AddIndexer(bindingsBySubject, subjects)
	deps.Namespaces.OnChange(ctx, handlerName, h.onNamespace)
	deps.Accounts.OnChange(ctx, handlerName, onChange(h.account))
	deps.Secrets.OnChange(ctx, handlerName, h.onSecret)
	deps.Roles.OnChange(ctx, handlerName, onChange(h.role))
	deps.RoleBindings.OnChange(ctx, handlerName, onChange(h.roleBinding))
	deps.ClusterRoles.OnChange(ctx, handlerName, onChange(h.clusterRole))
	deps.ClusterRoleBindings.OnChange(ctx, handlerName, onChange(h.clusterRoleBinding))
	go h.rounds(ctx)
}

// onChange leaves out what is gone already.
func onChange[T any](judge func(*T) error) func(string, *T) (*T, error) {
	return func(_ string, obj *T) (*T, error) {
		if obj == nil {
			return nil, nil
		}
		return obj, judge(obj)
	}
}

func subjects(binding *rbacv1.RoleBinding) ([]string, error) {
	var keys []string
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			keys = append(keys, subject.Namespace+"/"+subject.Name)
		}
	}
	return keys, nil
}

func (h *handler) onNamespace(_ string, ns *corev1.Namespace) (*corev1.Namespace, error) {
	if ns == nil {
		return nil, nil
	}
	v, err := h.namespace(ns)
	if v.later > 0 {
		h.Namespaces.EnqueueAfter(ns.Name, v.later)
	}
	return ns, err
}

func (h *handler) onSecret(_ string, secret *corev1.Secret) (*corev1.Secret, error) {
	if secret == nil {
		return nil, nil
	}
	v, err := h.secret(secret)
	if v.later > 0 {
		h.Secrets.EnqueueAfter(secret.Namespace, secret.Name, v.later)
	}
	return secret, err
}
