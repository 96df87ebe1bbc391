package conditions_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/conditions"
)

var (
	first  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("east", 2*3600))
	second = first.Add(time.Hour)
)

const (
	firstStamp  = "2026-03-01T10:00:00Z"
	secondStamp = "2026-03-01T11:00:00Z"
)

func TestTimesMoveOnlyWithWhatChanged(t *testing.T) {
	for name, test := range map[string]struct {
		status             corev1.ConditionStatus
		reason, message    string
		changed            bool
		updated, transited string
	}{
		"nothing":    {corev1.ConditionFalse, "Waiting", "for the agent", false, firstStamp, firstStamp},
		"message":    {corev1.ConditionFalse, "Waiting", "for the hub", true, secondStamp, firstStamp},
		"reason":     {corev1.ConditionFalse, "Refused", "for the agent", true, secondStamp, firstStamp},
		"status":     {corev1.ConditionTrue, "Waiting", "for the agent", true, secondStamp, secondStamp},
		"everything": {corev1.ConditionUnknown, "", "", true, secondStamp, secondStamp},
	} {
		t.Run(name, func(t *testing.T) {
			var list []genericcondition.GenericCondition
			require.True(t, conditions.SetCondition(&list, "Registered", "False", "Waiting", "for the agent", first))

			assert.Equal(t, test.changed, conditions.SetCondition(&list, "Registered", test.status, test.reason, test.message, second))

			require.Len(t, list, 1)
			assert.Equal(t, genericcondition.GenericCondition{
				Type: "Registered", Status: test.status, Reason: test.reason, Message: test.message,
				LastUpdateTime: test.updated, LastTransitionTime: test.transited,
			}, list[0])
		})
	}
}

func TestOtherConditionsStayAsTheyAre(t *testing.T) {
	list := []genericcondition.GenericCondition{{Type: "Ready", Status: "True", Reason: "theirs"}}

	conditions.SetCondition(&list, "Imported", "True", "", "", first)

	require.Len(t, list, 2)
	assert.Equal(t, genericcondition.GenericCondition{Type: "Ready", Status: "True", Reason: "theirs"}, list[0])
}

func TestMessagesAreBoundedValidText(t *testing.T) {
	for name, message := range map[string]string{
		"ascii":            strings.Repeat("x", 5000),
		"two-byte runes":   strings.Repeat("é", 5000),
		"four-byte runes":  "x" + strings.Repeat("🚢", 5000),
		"invalid bytes":    strings.Repeat("\xff", 5000),
		"a cut rune alone": "ok \xf0\x9f",
	} {
		t.Run(name, func(t *testing.T) {
			var list []genericcondition.GenericCondition
			conditions.SetCondition(&list, "Ready", "False", "Error", message, first)
			assert.LessOrEqual(t, len(list[0].Message), conditions.MaxMessage)
			assert.True(t, utf8.ValidString(list[0].Message), "%q", list[0].Message)
			assert.NotEmpty(t, list[0].Message)

			assert.False(t, conditions.SetCondition(&list, "Ready", "False", "Error", message, second),
				"the same long message again is no change")
		})
	}
	var list []genericcondition.GenericCondition
	fits := strings.Repeat("x", conditions.MaxMessage)
	conditions.SetCondition(&list, "Ready", "False", "Error", fits, first)
	assert.Equal(t, fits, list[0].Message)
}

func TestReading(t *testing.T) {
	list := []genericcondition.GenericCondition{{Type: "A", Status: "True"}, {Type: "B", Status: "False"}}

	assert.True(t, conditions.IsTrue(list, "A"))
	assert.False(t, conditions.IsTrue(list, "B"))
	assert.False(t, conditions.IsTrue(list, "C"))
	assert.Nil(t, conditions.GetCondition(list, "C"))

	got := conditions.GetCondition(list, "B")
	got.Status = "True"
	assert.False(t, conditions.IsTrue(list, "B"), "what was read is a copy")
}
