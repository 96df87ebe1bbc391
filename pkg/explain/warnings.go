package explain

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// maxWarnings is how many events are shown.
const maxWarnings = 5

// warnings are the newest events, those that still hold first. What is told of a request and of its Cluster is told once.
func (v *view) warnings() []EventLine {
	sorted := slices.SortedFunc(slices.Values(v.Warnings.Value), func(a, b Warning) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.About, b.About))
	})
	out, told := []EventLine{}, map[[2]string]bool{}
	for _, over := range []bool{false, true} {
		for _, w := range sorted {
			key := [2]string{w.Reason, w.Message}
			if v.over(w) != over || told[key] || len(out) == maxWarnings {
				continue
			}
			told[key] = true
			out = append(out, EventLine{Time: w.Time, About: w.About, Reason: w.Reason, Message: w.Message, Over: over})
		}
	}
	return out
}

var (
	// ofCondition is how the Event of a condition begins.
	ofCondition = regexp.MustCompile(`^(\w+)=(False|Unknown): `)
	// ofDenial is how the Event of a denial begins.
	ofDenial = regexp.MustCompile(`^Request (\S+) was denied `)
	// ofConflict is how the Event of a conflict begins that the Cluster is told of.
	ofConflict = regexp.MustCompile(`^Request (\S+) is refused: `)
)

// over says that what an event warned of holds no more. Of what cannot be told that is false.
func (v *view) over(w Warning) bool {
	if match := ofCondition.FindStringSubmatch(w.Message); match != nil {
		list, known := v.conditionsOf(w.About)
		if !known {
			return false
		}
		c := conditions.GetCondition(list, match[1])
		return c == nil || string(c.Status) != match[2] || c.Reason != w.Reason
	}
	if match := ofDenial.FindStringSubmatch(w.Message); match != nil {
		r := v.requestNamed(match[1])
		return r != nil && (r.Status.Approval == nil || r.Status.Approval.Decision != Deny)
	}
	if match := ofConflict.FindStringSubmatch(w.Message); match != nil {
		r := v.requestNamed(match[1])
		return r != nil && refusal(r) != w.Reason
	}
	return false
}

// conditionsOf are those of an object that events are about, by its kind and name.
func (v *view) conditionsOf(about string) (list []genericcondition.GenericCondition, known bool) {
	if v.Cluster != nil && about == "Cluster "+v.Name {
		return v.Cluster.Status.Conditions, true
	}
	if token := v.Token.Value; token != nil && about == "ClusterRegistrationToken "+token.Name {
		return token.Status.Conditions, true
	}
	for _, r := range v.Requests.Value {
		if about == "ClusterRegistration "+r.Name {
			return r.Status.Conditions, true
		}
	}
	return nil, false
}

func (v *view) requestNamed(name string) *fleet.ClusterRegistration {
	for _, r := range v.Requests.Value {
		if r.Name == name {
			return r
		}
	}
	return nil
}
