package cleanup

import (
	"fmt"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

func (h *handler) namespace(ns *corev1.Namespace) (verdict, error) {
	ref, ok := clusterOf(ns, h.Names)
	if !ok {
		return keep, nil
	}
	cluster, err := lookup(h.Clusters, ref)
	if err != nil {
		return keep, err
	}
	v := judgeNamespace(ns, cluster, h.Clock.Now())
	if !v.remove {
		return v, nil
	}
	// Exactly as it was judged: whoever has changed its marks since may have had a reason.
	options := kube.ByUID(ns.UID)
	options.Preconditions.ResourceVersion = &ns.ResourceVersion
	return v, removed("Namespace", ns, ref, h.Namespaces.Delete(ns.Name, options))
}

func (h *handler) secret(secret *corev1.Secret) (verdict, error) {
	ref, ok := secretClaim(secret, h.Names)
	if ok && secret.DeletionTimestamp == nil {
		gone, err := h.gone(ref)
		if err != nil {
			return keep, err
		}
		if gone {
			return keep, h.removeSecret(secret, ref)
		}
	}
	if !isCredential(secret, h.Names) {
		return keep, nil
	}
	v := judgeCredential(secret, nil, h.Clock.Now())
	if ok && ref.Kind == kindRegistration {
		registration, err := lookup(h.Registrations, ref)
		if err != nil {
			return keep, err
		}
		v = judgeCredential(secret, registration, h.Clock.Now())
	}
	if v.remove {
		return v, h.removeSecret(secret, ref)
	}
	return v, nil
}

func (h *handler) removeSecret(secret *corev1.Secret, ref names.OwnerRef) error {
	return removed("Secret", secret, ref, h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID)))
}

// account takes the bindings of an account before the account itself: without them it can do nothing within
// milliseconds, while a token in use outlives its account by some seconds.
func (h *handler) account(account *corev1.ServiceAccount) error {
	ref, ok := accountClaim(account, h.Names)
	if !ok || account.DeletionTimestamp != nil {
		return nil
	}
	gone, err := h.gone(ref)
	if err != nil || !gone {
		return err
	}
	bindings, err := h.RoleBindings.Cache().GetByIndex(bindingsBySubject, account.Namespace+"/"+account.Name)
	if err != nil {
		return fmt.Errorf("bindings of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	for _, binding := range bindings {
		if !onlyFor(binding, account) || binding.DeletionTimestamp != nil {
			continue
		}
		if err := h.removeRoleBinding(binding, ref); err != nil {
			return err
		}
	}
	return removed("ServiceAccount", account, ref, h.Accounts.Delete(account.Namespace, account.Name, kube.ByUID(account.UID)))
}

func (h *handler) roleBinding(binding *rbacv1.RoleBinding) error {
	return h.orphan(binding, func(ref names.OwnerRef) error { return h.removeRoleBinding(binding, ref) })
}

func (h *handler) removeRoleBinding(binding *rbacv1.RoleBinding, ref names.OwnerRef) error {
	return removed("RoleBinding", binding, ref, h.RoleBindings.Delete(binding.Namespace, binding.Name, kube.ByUID(binding.UID)))
}

func (h *handler) role(role *rbacv1.Role) error {
	return h.orphan(role, func(ref names.OwnerRef) error {
		return removed("Role", role, ref, h.Roles.Delete(role.Namespace, role.Name, kube.ByUID(role.UID)))
	})
}

func (h *handler) clusterRoleBinding(binding *rbacv1.ClusterRoleBinding) error {
	return h.orphan(binding, func(ref names.OwnerRef) error {
		return removed("ClusterRoleBinding", binding, ref, h.ClusterRoleBindings.Delete(binding.Name, kube.ByUID(binding.UID)))
	})
}

func (h *handler) clusterRole(role *rbacv1.ClusterRole) error {
	return h.orphan(role, func(ref names.OwnerRef) error {
		return removed("ClusterRole", role, ref, h.ClusterRoles.Delete(role.Name, kube.ByUID(role.UID)))
	})
}

// orphan removes an object of ours whose owner is gone.
func (h *handler) orphan(obj metav1.Object, remove func(names.OwnerRef) error) error {
	ref, ok := claimOf(obj)
	if !ok || !isManaged(obj) || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	gone, err := h.gone(ref)
	if err != nil || !gone {
		return err
	}
	return remove(ref)
}

// removed is the end of a deletion: that somebody else was faster, or has made the object anew, is as good.
func removed(kind string, obj metav1.Object, ref names.OwnerRef, err error) error {
	name := obj.GetName()
	if obj.GetNamespace() != "" {
		name = obj.GetNamespace() + "/" + name
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s %s of %s: %w", kind, name, ref, err)
	}
	logrus.WithField("owner", ref.String()).Infof("Removed %s %s: what it was for does not need it any more", kind, name)
	return nil
}
