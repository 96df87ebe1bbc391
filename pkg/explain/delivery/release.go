package delivery

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// keepPolicy is Helm's annotation of objects that stay when their release goes, or leaves them out.
const keepPolicy = "helm.sh/resource-policy"

// hookMark is Helm's annotation of objects that are no part of the release: they run before or after it.
const hookMark = "helm.sh/hook"

// Actions with an object, besides those with a deployment.
const (
	TakeOver Action = "take over" // it exists on the cluster and is not recorded in the release
	Run      Action = "run"       // a hook of the chart
)

// ObjectChange is what a deployment would do with one object.
type ObjectChange struct {
	Action    Action `json:"action"`
	Kind      string `json:"kind"`
	Version   string `json:"apiVersion"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are the paths at which it differs from what was deployed last: never a value.
	Fields []string `json:"fields,omitempty"`
}

// objectKey is an object whatever the version of its kind.
type objectKey struct {
	schema.GroupKind
	namespace, name string
}

func keyOfObject(obj *unstructured.Unstructured) objectKey {
	return objectKey{obj.GroupVersionKind().GroupKind(), obj.GetNamespace(), obj.GetName()}
}

// ReleaseChanges compares what was deployed last, of all releases that the bundle has, with what would be. exists says of an
// object that is in no release whether the cluster has it.
func ReleaseChanges(before, after []*unstructured.Unstructured, exists func(*unstructured.Unstructured) bool) []ObjectChange {
	had := map[objectKey]*unstructured.Unstructured{}
	for _, obj := range before {
		had[keyOfObject(obj)] = obj
	}
	var list []ObjectChange
	for _, obj := range after {
		old := had[keyOfObject(obj)]
		delete(had, keyOfObject(obj))
		c := objectChange(Same, obj)
		switch {
		case obj.GetAnnotations()[hookMark] != "":
			c.Action = Run
		case old == nil && exists(obj):
			c.Action = TakeOver
		case old == nil:
			c.Action = Create
		default:
			if c.Fields = paths("", old.Object, obj.Object, 3); len(c.Fields) > 0 {
				c.Action = Change
			}
		}
		list = append(list, c)
	}
	for _, old := range slices.SortedFunc(maps.Values(had), compareObjects) {
		c := objectChange(Remove, old)
		if old.GetAnnotations()[keepPolicy] == "keep" {
			c.Action = Keep
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b ObjectChange) int { return objectOrder(a.Action) - objectOrder(b.Action) })
	return list
}

func objectOrder(a Action) int {
	return slices.Index([]Action{Create, TakeOver, Change, Remove, Keep, Run, Same}, a)
}

func objectChange(action Action, obj *unstructured.Unstructured) ObjectChange {
	return ObjectChange{Action: action, Kind: obj.GetKind(), Version: obj.GetAPIVersion(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func compareObjects(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
