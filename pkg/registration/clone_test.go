package registration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func TestASuspicionIsReadBackAsItWasWritten(t *testing.T) {
	_, suspected := CloneOf(nil)
	assert.False(t, suspected)
	clone := Clone{Request: "uid", Instances: []string{"a", "b"}, Why: "they take turns", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	read, suspected := CloneOf(map[string]string{names.CloneAnnotation: clone.Annotation()})
	require.True(t, suspected)
	assert.Equal(t, clone, read)
}

// A person may put the mark there, or spoil it; that opens nothing.
func TestAnUnreadableSuspicionIsOneStill(t *testing.T) {
	for _, value := range []string{"", "yes", "{", `{"time":7}`} {
		_, suspected := CloneOf(map[string]string{names.CloneAnnotation: value})
		assert.True(t, suspected, value)
	}
}

func TestASuspicionIsToldWithinBounds(t *testing.T) {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge"}}
	many := Clone{Why: strings.Repeat("é\n", 5000), Instances: []string{strings.Repeat("x", 5000), "b\x1b[2J", "c", "d", "e"}}
	text := many.Message(c)
	assert.Less(t, len(text), conditions.MaxMessage)
	assert.NotContains(t, text, "\n")
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "`fleet cluster approve edge -n ws`")
}

func TestASuspectedCloneIsAStateOfAConnectedCluster(t *testing.T) {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge", Annotations: map[string]string{names.CloneAnnotation: "{}"}}}
	now := time.Now()
	conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionRegistered, metav1.ConditionTrue, "", "", now)
	conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, ReasonCloneSuspected, "", now)
	state, waitsFor := StateOf(c)
	assert.Equal(t, StateClone, state)
	assert.Contains(t, waitsFor, "fleet cluster approve")

	conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", "", now)
	state, _ = StateOf(c)
	assert.Equal(t, StateSilent, state, "what is nearer to the cause comes first")
}
