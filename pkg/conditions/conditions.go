package conditions

import (
	"time"
	"unicode/utf8"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
)

// MaxMessage is the longest message that a condition carries, in bytes. What a foreign cluster says ends up here, and a
// status has to stay small whatever it says.
const MaxMessage = 1024

// ellipsis marks a message that was cut.
const ellipsis = "..."

// SetCondition makes the condition of that type read so, and reports whether anything changed. Times are RFC 3339 in UTC:
// lastTransitionTime moves with the status, lastUpdateTime with anything, and neither when all was so already. A message
// longer than MaxMessage is cut between two characters.
func SetCondition[S ~string](list *[]genericcondition.GenericCondition, kind string, status S, reason, message string, now time.Time) bool {
	want := genericcondition.GenericCondition{
		Type:    kind,
		Status:  corev1.ConditionStatus(status),
		Reason:  reason,
		Message: bounded(message),
	}
	stamp := now.UTC().Format(time.RFC3339)

	have := find(*list, kind)
	if have == nil {
		want.LastUpdateTime, want.LastTransitionTime = stamp, stamp
		*list = append(*list, want)
		return true
	}
	if have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
		return false
	}
	want.LastUpdateTime, want.LastTransitionTime = stamp, have.LastTransitionTime
	if have.Status != want.Status {
		want.LastTransitionTime = stamp
	}
	*have = want
	return true
}

// GetCondition is a copy of the condition of that type, nil where there is none.
func GetCondition(list []genericcondition.GenericCondition, kind string) *genericcondition.GenericCondition {
	found := find(list, kind)
	if found == nil {
		return nil
	}
	copied := *found
	return &copied
}

// IsTrue reports whether the condition of that type is there and True.
func IsTrue(list []genericcondition.GenericCondition, kind string) bool {
	found := find(list, kind)
	return found != nil && found.Status == corev1.ConditionTrue
}

func find(list []genericcondition.GenericCondition, kind string) *genericcondition.GenericCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// bounded is s as valid UTF-8 of at most MaxMessage bytes.
func bounded(s string) string {
	if !utf8.ValidString(s) {
		s = replaceInvalid(s)
	}
	if len(s) <= MaxMessage {
		return s
	}
	cut := MaxMessage - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + ellipsis
}

// replaceInvalid replaces what is no character. Only the part that can be kept is looked at.
func replaceInvalid(s string) string {
	if len(s) > MaxMessage+utf8.UTFMax {
		s = s[:MaxMessage+utf8.UTFMax]
	}
	return string([]rune(s))
}
