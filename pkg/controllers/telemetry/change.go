package telemetry

import (
	"slices"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/conditions"
)

// row says what is told of a condition. That it became False, or False for another reason, is a warning whose reason is
// the condition's.
type row struct {
	condition string
	// quiet are the reasons that are no news: waits that end by themselves, and what was ordered.
	quiet []string
	// loud are the reasons that are a warning although the condition is not False.
	loud []string
	// reached, where it is set, is told when the condition becomes True; restored when it does after a warning.
	reached, restored string
	// message is that of reached or restored.
	message string
}

// news are the Events of a condition that changed.
func (r row) news(about subject, before, after []genericcondition.GenericCondition) []event {
	was, is := r.of(before), r.of(after)
	switch {
	case is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason:
		return nil
	case r.warns(is):
		return []event{warning(about, is.Reason, r.condition+"="+string(is.Status)+": "+is.Message)}
	case is.Status != corev1.ConditionTrue || was != nil && was.Status == corev1.ConditionTrue:
		return nil
	case r.reached != "":
		return []event{normal(about, r.reached, r.message)}
	case r.restored != "" && was != nil && r.warns(was):
		return []event{normal(about, r.restored, r.message)}
	}
	return nil
}

func (r row) of(list []genericcondition.GenericCondition) *genericcondition.GenericCondition {
	return conditions.GetCondition(list, r.condition)
}

func (r row) warns(c *genericcondition.GenericCondition) bool {
	if slices.Contains(r.loud, c.Reason) {
		return true
	}
	return c.Status == corev1.ConditionFalse && !slices.Contains(r.quiet, c.Reason)
}

// told are the announcements of Events alone.
func told(events []event) (out []announcement) {
	for _, e := range events {
		out = append(out, announcement{event: e})
	}
	return out
}
