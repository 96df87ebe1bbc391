package drift

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// maxTries is how many differences of one reading are tried. More than that are no matter of taste.
const maxTries = 50

// sameInEffect asks the server whether the change would change anything. It would not where the server drops a field that
// it does not know, writes a value in its own way, or where a webhook sets a field again at each write: nobody has changed
// the object then, and no correction would help. If the server does not answer that, the difference counts.
func (r *reading) sameInEffect(ctx context.Context, key Key, live *unstructured.Unstructured, change map[string]any) bool {
	if r.tries++; r.tries > maxTries {
		return false
	}
	data, err := json.Marshal(change)
	if err != nil {
		return false
	}
	kind := r.plan.objects[key].GroupVersionKind()
	patch := types.MergePatchType
	if _, typed := shapeOf(kind); typed {
		patch = types.StrategicMergePatchType
	}
	changed, err := r.cfg.Cluster.Try(ctx, kind, key, patch, data)
	if err != nil || changed == nil {
		return false
	}
	return reflect.DeepEqual(withoutRecord(live), withoutRecord(changed))
}

// withoutRecord is an object without what the server writes down about each change.
func withoutRecord(obj *unstructured.Unstructured) map[string]any {
	content := maps.Clone(obj.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, field)
		}
		content["metadata"] = metadata
	}
	return content
}
