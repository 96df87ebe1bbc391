package drift

import (
	"github.com/rancher/wrangler/v3/pkg/summary"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// notReady says why a live object is not ready, nil if it is.
func (p *Plan) notReady(live *unstructured.Unstructured) *summary.Summary {
	state := summary.Summarize(withoutConditions(live, p.ignore))
	if state.IsReady() {
		return nil
	}
	reason := &summary.Summary{State: bounded(state.State, maxState), Error: state.Error, Transitioning: state.Transitioning}
	for _, message := range state.Message[:min(len(state.Message), maxReasons)] {
		reason.Message = append(reason.Message, bounded(message, maxReason))
	}
	return reason
}

// withoutConditions is an object without the conditions that have all fields of one of those that are to be ignored.
func withoutConditions(live *unstructured.Unstructured, ignore []map[string]string) *unstructured.Unstructured {
	conditions, found, err := unstructured.NestedFieldNoCopy(live.Object, "status", "conditions")
	list, ok := conditions.([]any)
	if len(ignore) == 0 || !found || err != nil || !ok {
		return live
	}
	kept := make([]any, 0, len(list))
	for _, condition := range list {
		if !ignored(condition, ignore) {
			kept = append(kept, condition)
		}
	}
	if len(kept) == len(list) {
		return live
	}
	status := map[string]any{}
	for name, value := range live.Object["status"].(map[string]any) {
		status[name] = value
	}
	status["conditions"] = kept
	object := map[string]any{}
	for name, value := range live.Object {
		object[name] = value
	}
	object["status"] = status
	return &unstructured.Unstructured{Object: object}
}

func ignored(condition any, ignore []map[string]string) bool {
	fields, ok := condition.(map[string]any)
	if !ok {
		return false
	}
	for _, wanted := range ignore {
		equal := len(wanted) > 0
		for name, value := range wanted {
			text, ok := fields[name].(string)
			equal = equal && ok && text == value
		}
		if equal {
			return true
		}
	}
	return false
}
