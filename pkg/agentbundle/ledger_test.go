package agentbundle

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func edge(uid types.UID) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: "ws", Name: "edge", UID: uid}
}

func TestWhatTheHubWroteLastIsItsOwn(t *testing.T) {
	l := NewLedger()
	assert.Equal(t, Unknown, l.Judge(edge("1"), "a"), "it has just started")
	l.Write(edge("1"), "a")
	assert.Equal(t, Written, l.Judge(edge("1"), "a"))
	assert.Equal(t, Foreign, l.Judge(edge("1"), "b"))
	assert.Equal(t, Unknown, l.Judge(edge("1"), ""))
	l.Write(edge("1"), "b")
	l.Write(edge("1"), "b")
	assert.Equal(t, Written, l.Judge(edge("1"), "b"))
	assert.Equal(t, Unknown, l.Judge(edge("1"), "a"), "a cache may still show it; nothing new is made of it")
	l.Write(edge("1"), "c")
	assert.Equal(t, Unknown, l.Judge(edge("1"), "a"), "both writes after it may have failed")
	assert.Equal(t, Foreign, l.Judge(edge("1"), "x"))
	for i := range 2 * maxBefore {
		l.Write(edge("1"), fmt.Sprint(i))
	}
	assert.Equal(t, Foreign, l.Judge(edge("1"), "a"), "long ago")

	assert.Equal(t, Unknown, l.Judge(edge("2"), "c"), "another Cluster of that name")
	l.Forget("ws", "edge")
	assert.Equal(t, Unknown, l.Judge(edge("1"), "c"))
	var none *Ledger
	none.Write(edge("1"), "a")
	assert.Equal(t, Unknown, none.Ask(edge("1"), "a"))
	none.Forget("ws", "edge")
}

// A hub that starts finds what the one before it wrote. It must not call that somebody else's while its own write is on its way.
func TestWhatIsFoundAtTheStartIsNobodysDoing(t *testing.T) {
	l := NewLedger()
	l.Found(edge("1"), "found")
	assert.Equal(t, Unknown, l.Judge(edge("1"), "found"))
	assert.Equal(t, Unknown, l.Judge(edge("1"), "x"), "nothing is known yet")
	l.Write(edge("1"), "a")
	assert.Equal(t, Unknown, l.Judge(edge("1"), "found"), "a cache may still show it")
	assert.Equal(t, Foreign, l.Judge(edge("1"), "x"))
	l.Found(edge("1"), "x")
	assert.Equal(t, Foreign, l.Judge(edge("1"), "x"), "what is found later is looked at")
	var none *Ledger
	none.Found(edge("1"), "a")
}

func TestWhoAskedIsWokenOnceItIsWritten(t *testing.T) {
	l := NewLedger()
	var woken []types.NamespacedName
	l.OnWritten(func(cluster types.NamespacedName) { woken = append(woken, cluster) })
	l.Write(edge("1"), "a")
	assert.Equal(t, Foreign, l.Ask(edge("1"), "b"))
	l.Write(edge("1"), "c")
	assert.Empty(t, woken, "it is not what was asked for")
	l.Write(edge("1"), "b")
	l.Write(edge("1"), "b")
	assert.Equal(t, []types.NamespacedName{{Namespace: "ws", Name: "edge"}}, woken, "once")
	assert.Equal(t, Written, l.Ask(edge("1"), "b"))
	l.Write(edge("1"), "b")
	assert.Len(t, woken, 1, "it had its answer")
}

func TestADigestStandsForTheWholeSpec(t *testing.T) {
	var spec fleet.BundleSpec
	spec.Resources = []fleet.BundleResource{{Name: "agent.yaml", Content: "a"}}
	spec.Targets = []fleet.BundleTarget{{ClusterName: "edge", ClusterSelector: &metav1.LabelSelector{}}}
	data, err := json.Marshal(spec)
	require.NoError(t, err)
	var read fleet.BundleSpec
	require.NoError(t, json.Unmarshal(data, &read))
	read.TargetCustomizationMode = fleet.TargetCustomizationModeFirstMatch
	assert.Equal(t, Digest(spec), Digest(read), "the API server fills in a default")
	assert.Empty(t, spec.TargetCustomizationMode)
	for name, change := range map[string]func(*fleet.BundleSpec){
		"resources": func(s *fleet.BundleSpec) { s.Resources = []fleet.BundleResource{{Name: "agent.yaml", Content: "b"}} },
		"a chart":   func(s *fleet.BundleSpec) { s.Helm = &fleet.HelmOptions{Chart: "oci://elsewhere"} },
		"mode":      func(s *fleet.BundleSpec) { s.TargetCustomizationMode = fleet.TargetCustomizationModeAllMatches },
		"an order":  func(s *fleet.BundleSpec) { s.DependsOn = []fleet.BundleRef{{Name: "other"}} },
	} {
		other := read
		change(&other)
		assert.NotEqual(t, Digest(spec), Digest(other), name)
	}
}
