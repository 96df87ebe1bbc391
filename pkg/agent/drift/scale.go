package drift

import (
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// span is how many replicas an autoscaler may choose.
type span struct{ min, max int64 }

// scaledByOthers are the workloads whose number of replicas an autoscaler of the same release decides.
func scaledByOthers(objects map[Key]*unstructured.Unstructured) map[Key]span {
	var result map[Key]span
	for key, obj := range objects {
		if key.Group != "autoscaling" || key.Kind != "HorizontalPodAutoscaler" {
			continue
		}
		// A reference that is no text names no workload: as with an empty one, nothing is scaled by it.
		apiVersion, _, _ := unstructured.NestedString(obj.Object, "spec", "scaleTargetRef", "apiVersion")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(obj.Object, "spec", "scaleTargetRef", "name")
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			continue
		}
		if result == nil {
			result = map[Key]span{}
		}
		within := span{min: 1, max: math.MaxInt64}
		if least, ok := whole(obj.Object, "spec", "minReplicas"); ok {
			within.min = least
		}
		if most, ok := whole(obj.Object, "spec", "maxReplicas"); ok {
			within.max = most
		}
		result[Key{Group: gv.Group, Kind: kind, Namespace: key.Namespace, Name: name}] = within
	}
	return result
}

// holds says whether the replicas of a live workload are a number that the autoscaler may have chosen.
func (s span) holds(live map[string]any) bool {
	count, ok := whole(live, "spec", "replicas")
	return ok && s.min <= count && count <= s.max
}

// whole is a field that is a whole number, however it was decoded.
func whole(object map[string]any, path ...string) (int64, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found {
		return 0, false
	}
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), value == math.Trunc(value) && math.Abs(value) < 1<<53
	default:
		return 0, false
	}
}
