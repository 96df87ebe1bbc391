package desired

import (
	"github.com/rancher/wrangler/v3/pkg/apply"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// recorded is how much of a string the engine keeps in its record of what it last applied.
const recorded = 64

// replaceOnRoleRef has a binding deleted and made anew when it should point to another role: the API refuses to change
// roleRef. The engine reports an error for that pass and creates the binding in the next one.
func replaceOnRoleRef(before, after runtime.Object) (bool, error) {
	was, err := roleRef(before)
	if err != nil {
		return false, err
	}
	is, err := roleRef(after)
	if err != nil {
		return false, err
	}
	if was != is {
		return false, apply.ErrReplace
	}
	return false, nil
}

type ref struct{ group, kind, name string }

// roleRef is compared as far as it was recorded.
func roleRef(obj runtime.Object) (ref, error) {
	content := map[string]any{}
	if typed, ok := obj.(*unstructured.Unstructured); ok {
		content = typed.Object
	} else {
		converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return ref{}, err
		}
		content = converted
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(content, "roleRef", name)
		if len(value) > recorded {
			return value[:recorded]
		}
		return value
	}
	return ref{group: field("apiGroup"), kind: field("kind"), name: field("name")}, nil
}
