package credentialaccess

import (
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/kube"
)

// apply takes away first: what binds before what is bound.
func (h *handler) apply(in input, d decision) error {
	roles, bindings := map[string]bool{}, map[string]bool{}
	for i := range d.roles {
		roles[d.roles[i].Name], bindings[d.bindings[i].Name] = true, true
	}
	for name, b := range in.bindings {
		if !bindings[name] || b.RoleRef != bindingOf(d, name).RoleRef {
			if err := gone(h.RoleBindings.Delete(b.Namespace, name, kube.ByUID(b.UID))); err != nil {
				return fmt.Errorf("deleting RoleBinding %s: %w", name, err)
			}
			delete(in.bindings, name) // a RoleRef cannot be changed: the binding is made anew
		}
	}
	for name, r := range in.roles {
		if !roles[name] {
			if err := gone(h.Roles.Delete(r.Namespace, name, kube.ByUID(r.UID))); err != nil {
				return fmt.Errorf("deleting Role %s: %w", name, err)
			}
		}
	}
	for i := range d.roles {
		if err := h.keepRole(in.roles[d.roles[i].Name], d.roles[i]); err != nil {
			return fmt.Errorf("role %s: %w", d.roles[i].Name, err)
		}
		if err := h.keepBinding(in.bindings[d.bindings[i].Name], d.bindings[i]); err != nil {
			return fmt.Errorf("role binding %s: %w", d.bindings[i].Name, err)
		}
	}
	return nil
}

func bindingOf(d decision, name string) *rbacv1.RoleBinding {
	for _, b := range d.bindings {
		if b.Name == name {
			return b
		}
	}
	return &rbacv1.RoleBinding{}
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// keepRole patches without a precondition: nobody else writes this Role, and while many join the cache is always a little
// behind what was just written. Where it made us leave out a change, the event of that write brings us back.
func (h *handler) keepRole(have, want *rbacv1.Role) error {
	if have != nil && sameRole(have, want) {
		return nil
	}
	if have == nil {
		if _, err := h.Roles.Create(want); err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	patch, err := merge(want, "rules", want.Rules)
	if err != nil {
		return err
	}
	_, err = h.Roles.Patch(want.Namespace, want.Name, types.MergePatchType, patch)
	return err
}

func (h *handler) keepBinding(have, want *rbacv1.RoleBinding) error {
	if have != nil && sameBinding(have, want) {
		return nil
	}
	if have == nil {
		if _, err := h.RoleBindings.Create(want); err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	patch, err := merge(want, "subjects", want.Subjects)
	if err != nil {
		return err
	}
	_, err = h.RoleBindings.Patch(want.Namespace, want.Name, types.MergePatchType, patch)
	return err
}

// merge is a patch that sets our labels and annotations, and one field as a whole.
func merge(obj metav1.Object, field string, value any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": obj.GetLabels(), "annotations": obj.GetAnnotations()},
		field:      value,
	})
}
