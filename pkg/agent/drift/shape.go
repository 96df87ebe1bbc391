package drift

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// shape is what is known of the type of a value.
type shape struct {
	// meta is the Go type, nil where there is none: for custom resources, and below fields that the type does not know.
	meta strategicpatch.LookupPatchMeta
	// free says that the value is a map with names of somebody's choice, in which an empty value is a value.
	free bool
	// exact says that the server keeps false, zero and empty texts as they were given, as it does for custom resources.
	exact bool
}

// freeMaps are the maps with free names, where no type says so.
var freeMaps = []string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData"}

// typedGroups are groups whose servers have Go types, which are not among ours: such servers leave out what is empty.
var typedGroups = []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}

// shapeOf is the shape of a kind. typed says that its Go type is known.
func shapeOf(kind schema.GroupVersionKind) (s shape, typed bool) {
	if object, err := scheme.Scheme.New(kind); err == nil {
		if meta, err := strategicpatch.NewPatchMetaFromStruct(object); err == nil {
			return shape{meta: meta}, true
		}
	}
	return shape{exact: !slices.Contains(typedGroups, kind.Group)}, false
}

// field is the shape of a field that holds a map.
func (s shape) field(name string) shape {
	if s.meta == nil {
		return shape{exact: s.exact, free: slices.Contains(freeMaps, name)}
	}
	meta, _, err := s.meta.LookupPatchMetadataForStruct(name)
	if err != nil {
		return shape{}
	}
	if t := goType(meta); t != nil && indirect(t).Kind() == reflect.Map {
		return shape{free: true}
	}
	return shape{meta: meta}
}

// list is the shape of the elements of a field that holds a list. merged says that the elements are a set, told apart by
// the field key, or by themselves if there is none.
func (s shape) list(name string) (element shape, merged bool, key string) {
	if s.meta == nil {
		return shape{exact: s.exact}, false, ""
	}
	meta, patch, err := s.meta.LookupPatchMetadataForSlice(name)
	if err != nil {
		return shape{}, false, ""
	}
	return shape{meta: meta}, slices.Contains(patch.GetPatchStrategies(), "merge"), patch.GetPatchMergeKey()
}

// says whether a field of that value is more than if it were left out.
func (s shape) says(name string, value any) bool {
	if value == nil {
		return false
	}
	if s.free {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		inner := s.field(name)
		for name, field := range value {
			if inner.says(name, field) {
				return true
			}
		}
		return false
	case []any:
		return len(value) > 0
	default:
		return s.exact || s.pointer(name) || !empty(value)
	}
}

// pointer says whether the type tells apart that a field is left out and that it is empty.
func (s shape) pointer(name string) bool {
	if s.meta == nil {
		return false
	}
	meta, _, err := s.meta.LookupPatchMetadataForStruct(name)
	if err != nil {
		return false
	}
	t := goType(meta)
	return t != nil && t.Kind() == reflect.Pointer
}

func goType(meta strategicpatch.LookupPatchMeta) reflect.Type {
	if known, ok := meta.(strategicpatch.PatchMetaFromStruct); ok {
		return known.T
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// empty says whether a value is the one that a type has when nothing was set.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case int64:
		return value == 0
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}
