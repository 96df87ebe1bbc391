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

// apply gives before it takes: a name that moves to another Role is readable all the time.
func (h *handler) apply(in input, d decision) error {
	roles, bindings := map[string]bool{}, map[string]bool{}
	for i := range d.roles {
		role, binding := d.roles[i], d.bindings[i]
		roles[role.Name], bindings[binding.Name] = true, true
		if err := h.keepRole(in.roles[role.Name], role); err != nil {
			return fmt.Errorf("role %s: %w", role.Name, err)
		}
		if err := h.keepBinding(in.bindings[binding.Name], binding); err != nil {
			return fmt.Errorf("role binding %s: %w", binding.Name, err)
		}
	}
	for name, b := range in.bindings {
		if !bindings[name] {
			if err := h.deleteBinding(b); err != nil {
				return err
			}
		}
	}
	for name, r := range in.roles {
		if !roles[name] {
			if err := kube.Deleted(h.Roles.Delete(r.Namespace, name, kube.ByUID(r.UID))); err != nil {
				return fmt.Errorf("deleting Role %s: %w", name, err)
			}
		}
	}
	return nil
}

func (h *handler) deleteBinding(b *rbacv1.RoleBinding) error {
	if err := kube.Deleted(h.RoleBindings.Delete(b.Namespace, b.Name, kube.ByUID(b.UID))); err != nil {
		return fmt.Errorf("deleting RoleBinding %s: %w", b.Name, err)
	}
	return nil
}

// keepRole patches without a precondition: nobody else writes this Role, and while many join the cache is always a little
// behind what was just written. Where it made us leave out a change, the event of that write brings us back.
func (h *handler) keepRole(have, want *rbacv1.Role) error {
	if have != nil && sameRole(have, want) {
		return nil
	}
	patch, err := merge(want, "rules", want.Rules)
	if err != nil {
		return err
	}
	return keep(h.Roles, have != nil, want, patch)
}

func (h *handler) keepBinding(have, want *rbacv1.RoleBinding) error {
	if have != nil && have.RoleRef != want.RoleRef { // which cannot be changed
		if err := h.deleteBinding(have); err != nil {
			return err
		}
		have = nil
	}
	if have != nil && sameBinding(have, want) {
		return nil
	}
	patch, err := merge(want, "subjects", want.Subjects)
	if err != nil {
		return err
	}
	return keep(h.RoleBindings, have != nil, want, patch)
}

type writer[T metav1.Object] interface {
	Create(T) (T, error)
	Patch(namespace, name string, pt types.PatchType, data []byte, subresources ...string) (T, error)
}

// keep patches or creates, whichever the cache asks for first. It may not know yet that the object was made, or is gone.
func keep[T metav1.Object](w writer[T], exists bool, want T, patch []byte) error {
	if !exists {
		if _, err := w.Create(want); err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	_, err := w.Patch(want.GetNamespace(), want.GetName(), types.MergePatchType, patch)
	if exists && apierrors.IsNotFound(err) {
		_, err = w.Create(want)
	}
	return err
}

// merge is a patch that sets our labels and annotations, and one field as a whole.
func merge(obj metav1.Object, field string, value any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": obj.GetLabels(), "annotations": obj.GetAnnotations()},
		field:      value,
	})
}
