package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// eachAsIs reads objects of a kind of the group whole and unchanged, to compute with them: digests and templates depend on
// every byte. Nothing of them is shown before it went through forEyes.
func eachAsIs[T any](ctx context.Context, h *hub, what kind, namespace string, options metav1.ListOptions, do func(*T)) error {
	err := eachItem(ctx, h.resource(what).Namespace(namespace).List, options, func(item runtime.Object) error {
		u, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("reading %s: unexpected %T", what.resource, item)
		}
		obj, err := asIs[T](u)
		if err == nil {
			do(obj)
		}
		return err
	})
	return notServed(err)
}

// allAsIs collects them.
func allAsIs[T any](ctx context.Context, h *hub, what kind, namespace string, options metav1.ListOptions) ([]*T, error) {
	var all []*T
	err := eachAsIs(ctx, h, what, namespace, options, func(obj *T) { all = append(all, obj) })
	return all, err
}

// oneAsIs reads one of them.
func oneAsIs[T any](ctx context.Context, h *hub, what kind, o object) (*T, error) {
	u, err := h.resource(what).Namespace(o.workspace).Get(ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return nil, notServed(err)
	}
	return asIs[T](u)
}

func asIs[T any](u *unstructured.Unstructured) (*T, error) {
	obj := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", strings.ToLower(u.GetKind()), u.GetNamespace(), u.GetName(), err)
	}
	return obj, nil
}

// forEyes is a value whose texts may all be shown.
func forEyes[T any](value T) (T, error) {
	var out T
	encoded, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return out, err
	}
	if encoded, err = json.Marshal(shown(decoded)); err != nil {
		return out, err
	}
	return out, json.Unmarshal(encoded, &out)
}
