package drift

import (
	"context"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// maxTries is how many differences of one reading are tried. More than that are no matter of taste.
const maxTries = 50

// inEffect is the part of a change that would change anything, nil if none would. The server is asked. A change has no
// effect where the server drops a field that it does not know, writes a value in its own way, or where a webhook sets a
// field again at each write: nobody has changed the object then, and no correction would help. If the server does not
// answer that, the whole change counts.
func (r *reading) inEffect(ctx context.Context, key Key, live *unstructured.Unstructured, change map[string]any) map[string]any {
	if r.tries++; r.tries > maxTries {
		return change
	}
	data, err := json.Marshal(change)
	if err != nil {
		return change
	}
	kind := r.plan.objects[key].GroupVersionKind()
	patch := types.MergePatchType
	if _, typed := shapeOf(kind); typed {
		patch = types.StrategicMergePatchType
	}
	changed, err := r.cfg.Cluster.Try(ctx, kind, key, patch, data)
	if err != nil || changed == nil {
		return change
	}
	return effective(change, live.Object, changed.Object)
}

// effective are the fields of a change that differ between before and after.
func effective(change, before, after map[string]any) map[string]any {
	var result map[string]any
	for name, value := range change {
		if reflect.DeepEqual(before[name], after[name]) {
			continue
		}
		fields, nested := value.(map[string]any)
		old, was := before[name].(map[string]any)
		now, is := after[name].(map[string]any)
		if nested && was && is {
			inner := effective(fields, old, now)
			if inner == nil {
				continue
			}
			value = inner
		}
		if result == nil {
			result = map[string]any{}
		}
		result[name] = value
	}
	return result
}
