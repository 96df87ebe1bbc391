package drift

import (
	"encoding/base64"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rancher/fleet/pkg/names"
)

// serverFields of the metadata are the server's, or are the object's name and so equal.
var serverFields = []string{"name", "namespace", "generateName", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// normal brings both sides of a comparison into the same form. The live side is shallow: only what differs from the
// object is copied, and nothing below may be changed.
func normal(key Key, desired, live *unstructured.Unstructured) (want, have map[string]any, kind shape) {
	want = runtime.DeepCopyJSON(withoutNull(desired.Object).(map[string]any))
	for _, field := range []string{"apiVersion", "kind", "status"} {
		delete(want, field)
	}
	if metadata, ok := want["metadata"].(map[string]any); ok {
		for _, field := range serverFields {
			delete(metadata, field)
		}
		for _, notes := range []string{"labels", "annotations"} {
			if notes, ok := metadata[notes].(map[string]any); ok {
				dropObjectSet(notes)
			}
		}
	}
	ofKind(key, want, live)
	have = live.Object
	kind, typed := shapeOf(desired.GroupVersionKind())
	if typed {
		want = typedForm(desired.GroupVersionKind(), want)
	}
	return want, have, kind
}

// withoutNull is a value without the fields that are null: to the server they say that nothing is set.
func withoutNull(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for name, field := range value {
			if field != nil {
				result[name] = withoutNull(field)
			}
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i := range value {
			result[i] = withoutNull(value[i])
		}
		return result
	default:
		return value
	}
}

func dropObjectSet(notes map[string]any) {
	for name := range notes {
		if strings.HasPrefix(name, names.ApplyPrefix) {
			delete(notes, name)
		}
	}
}

// ofKind leaves out of the desired object what its kind lets the cluster decide.
func ofKind(key Key, want map[string]any, live *unstructured.Unstructured) {
	switch key.Group + "/" + key.Kind {
	case "/Secret":
		mergeStringData(want)
	case "/Service":
		dropEmpty(want, "spec", "clusterIP")
		dropEmpty(want, "spec", "loadBalancerIP")
		dropEmpty(want, "spec", "clusterIPs")
		for _, port := range nestedMaps(want, "spec", "ports") {
			dropEmpty(port, "nodePort")
			dropEmpty(port, "targetPort")
		}
	case "rbac.authorization.k8s.io/ClusterRole":
		if want["aggregationRule"] != nil || live.Object["aggregationRule"] != nil {
			delete(want, "rules") // gathered by the controller
		}
	case "admissionregistration.k8s.io/MutatingWebhookConfiguration",
		"admissionregistration.k8s.io/ValidatingWebhookConfiguration":
		for _, webhook := range nestedMaps(want, "webhooks") {
			dropPlaceholder(webhook, "clientConfig", "caBundle")
		}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		dropPlaceholder(want, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	case "apiregistration.k8s.io/APIService":
		dropPlaceholder(want, "spec", "caBundle")
	}
}

// mergeStringData does what the server does with stringData, which it never gives back.
func mergeStringData(want map[string]any) {
	plain, ok := want["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(want, "stringData")
	data, ok := want["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		want["data"] = data
	}
	for name, value := range plain {
		if text, ok := value.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
}

// dropPlaceholder removes a CA bundle that holds no certificate: it is there to be filled in by somebody else.
func dropPlaceholder(object map[string]any, path ...string) {
	text, _, err := unstructured.NestedString(object, path...)
	if raw, bad := base64.StdEncoding.DecodeString(text); err == nil && bad == nil && len(strings.TrimSpace(string(raw))) == 0 {
		unstructured.RemoveNestedField(object, path...)
	}
}

func dropEmpty(object map[string]any, path ...string) {
	if value, found, err := unstructured.NestedFieldNoCopy(object, path...); err == nil && found && empty(value) {
		unstructured.RemoveNestedField(object, path...)
	}
}

// nestedMaps are the maps in a list. A field of another type has none: there is nothing to leave out of it, and it is
// compared as it stands.
func nestedMaps(object map[string]any, path ...string) (result []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if item, ok := item.(map[string]any); ok {
			result = append(result, item)
		}
	}
	return result
}

// typedForm is an object as the Go type of its kind writes it: quantities, times and the like in the server's form. An
// object that does not fit its type stays as it is.
func typedForm(kind schema.GroupVersionKind, want map[string]any) map[string]any {
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return want
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(want, typed) != nil {
		return want
	}
	form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return want
	}
	return canonical(want, form).(map[string]any)
}

// canonical has the fields of raw in the form of typed. What the type does not know stays as it is.
func canonical(raw, typed any) any {
	switch raw := raw.(type) {
	case map[string]any:
		form, ok := typed.(map[string]any)
		if !ok {
			break
		}
		result := make(map[string]any, len(raw))
		for name, field := range raw {
			if value, known := form[name]; known && value != nil {
				field = canonical(field, value)
			}
			result[name] = field
		}
		return result
	case []any:
		form, ok := typed.([]any)
		if !ok || len(form) != len(raw) {
			break
		}
		result := make([]any, len(raw))
		for i := range raw {
			result[i] = raw[i]
			if form[i] != nil {
				result[i] = canonical(raw[i], form[i])
			}
		}
		return result
	}
	return typed
}
