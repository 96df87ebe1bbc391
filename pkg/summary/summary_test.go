package summary

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestAddCountsEachOnce(t *testing.T) {
	var s fleet.BundleSummary
	for _, state := range []fleet.BundleState{fleet.Ready, fleet.Ready, fleet.Pending, fleet.ErrApplied, fleet.WaitApplied, fleet.Modified, fleet.OutOfSync, fleet.NotReady} {
		Add(&s, Entry{Name: "c-" + string(state), State: state})
	}
	assert.Equal(t, 8, s.DesiredReady)
	assert.Equal(t, 2, s.Ready)
	assert.Len(t, s.NonReadyResources, 6)
	for _, state := range states[:6] {
		assert.Equal(t, 1, *counter(&s, state), state)
	}
	assert.Equal(t, fleet.ErrApplied, WorstOf(s))
}

func TestReadyConditionText(t *testing.T) {
	var s fleet.BundleSummary
	ready, text := ReadyCondition(s, "Cluster")
	assert.True(t, ready)
	assert.Empty(t, text)

	Add(&s, Entry{Name: "ws/a", State: fleet.Modified, Modified: []fleet.ModifiedStatus{
		{Kind: "ConfigMap", APIVersion: "v1", Namespace: "ns", Name: "cm", Patch: `{"data":{}}`},
		{Kind: "Secret", APIVersion: "v1", Namespace: "ns", Name: "s", Create: true},
	}})
	Add(&s, Entry{Name: "ws/b", State: fleet.ErrApplied, Message: "no such kind"})
	Add(&s, Entry{Name: "ws/c", State: fleet.ErrApplied, Message: "another"})
	Add(&s, Entry{Name: "ws/d", State: fleet.Ready})
	ready, text = ReadyCondition(s, "Cluster")
	assert.False(t, ready)
	assert.Equal(t, `ErrApplied(2) [Cluster ws/b: no such kind]; Modified(1) [Cluster ws/a]; `+
		`configmap.v1 ns/cm modified {"data":{}}; secret.v1 ns/s missing`, text)
}

func TestReadyConditionNamesFourResourcesOfASort(t *testing.T) {
	var s fleet.BundleSummary
	entry := Entry{Name: "a", State: fleet.NotReady}
	for i := range 6 {
		entry.NonReady = append(entry.NonReady, fleet.NonReadyStatus{Kind: "Pod", APIVersion: "v1", Name: fmt.Sprint(i)})
	}
	Add(&s, entry)
	_, text := ReadyCondition(s, "Bundle")
	assert.Equal(t, 4, strings.Count(text, "pod.v1"))
}

func TestEveryStateHasAnExampleIfThereIsRoom(t *testing.T) {
	var s fleet.BundleSummary
	for i := range 30 {
		Add(&s, Entry{Name: fmt.Sprintf("c%02d", i), State: fleet.NotReady})
	}
	Add(&s, Entry{Name: "broken", State: fleet.ErrApplied, Message: "no such kind"})
	assert.Len(t, s.NonReadyResources, MaxEntries)
	_, text := ReadyCondition(s, "Cluster")
	assert.Equal(t, "ErrApplied(1) [Cluster broken: no such kind]; NotReady(30) [Cluster c00]", text)
}

func TestAStateWithoutExampleIsStillSaid(t *testing.T) {
	ready, text := ReadyCondition(fleet.BundleSummary{Pending: 3, DesiredReady: 3}, "Cluster")
	assert.False(t, ready)
	assert.Equal(t, "Pending(3)", text)
}

func TestMergeKeepsTheCounts(t *testing.T) {
	var a, b fleet.BundleSummary
	Add(&a, Entry{Name: "x", State: fleet.NotReady})
	Add(&a, Entry{Name: "y", State: fleet.Ready})
	Add(&b, Entry{Name: "z", State: fleet.ErrApplied})
	Merge(&a, b)
	assert.Equal(t, fleet.BundleSummary{NotReady: 1, Ready: 1, ErrApplied: 1, DesiredReady: 3, NonReadyResources: []fleet.NonReadyResource{
		{Name: "x", State: fleet.NotReady}, {Name: "z", State: fleet.ErrApplied},
	}}, a)
}

func TestCountsOfAnAgentAreNotBelievedBeyondReason(t *testing.T) {
	sum := fleet.ResourceCounts{Ready: 1, DesiredReady: 2}
	AddCounts(&sum, fleet.ResourceCounts{Ready: -5, DesiredReady: 3, Missing: 1 << 60})
	assert.Equal(t, fleet.ResourceCounts{Ready: 1, DesiredReady: 5, Missing: maxCount}, sum)
}

// The status of a Bundle is far below what an API server takes, whatever agents report and however it is written.
func TestASummaryIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("x", 10_000), "escaped": strings.Repeat("<", 10_000),
		"control": strings.Repeat("\x01a", 10_000), "broken": strings.Repeat("\xff\xfe", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			entry := Entry{Name: text, State: fleet.ErrApplied, Message: text}
			for range 50 {
				entry.Modified = append(entry.Modified, fleet.ModifiedStatus{Kind: text, APIVersion: text, Namespace: text, Name: text, Patch: text})
				n := fleet.NonReadyStatus{Kind: text, APIVersion: text, Namespace: text, Name: text, UID: types.UID(text)}
				n.Summary.State, n.Summary.Message = text, []string{text, text, text, text}
				entry.NonReady = append(entry.NonReady, n)
			}
			var s fleet.BundleSummary
			for range 1000 {
				Add(&s, entry)
			}
			status := fleet.BundleStatus{Summary: s}
			for range 1000 {
				status.PartitionStatus = append(status.PartitionStatus, fleet.PartitionStatus{Name: text, Summary: s})
			}
			Bound(&status.Summary)
			status.PartitionStatus = Partitions(status.PartitionStatus)
			encoded, err := json.Marshal(status)
			require.NoError(t, err)
			assert.Less(t, len(encoded), 256_000)
			assert.NotContains(t, string(encoded), `\u0001`)
			assert.Equal(t, 1000, status.Summary.ErrApplied)
		})
	}
}

// An agent may write its cluster's status, whose summary the groups of the cluster add up.
func TestASummaryOfAnAgentIsNotBelievedBeyondReason(t *testing.T) {
	text := strings.Repeat("<\x01", 100_000)
	forged := fleet.BundleSummary{Ready: -7, ErrApplied: 1 << 62, DesiredReady: 1 << 62}
	for range 1000 {
		forged.NonReadyResources = append(forged.NonReadyResources, fleet.NonReadyResource{
			Name: text, State: fleet.Modified, Message: text, ModifiedStatus: make([]fleet.ModifiedStatus, 1000),
		}, fleet.NonReadyResource{Name: "x", State: fleet.BundleState(text)})
	}
	var s fleet.BundleSummary
	for range 5 {
		Merge(&s, forged)
	}
	Bound(&s)

	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded), MaxSize)
	assert.NotContains(t, string(encoded), `\u0001`)
	assert.Zero(t, s.Ready)
	assert.Equal(t, 5*maxCount, s.ErrApplied)
	for _, example := range s.NonReadyResources {
		assert.Equal(t, fleet.Modified, example.State, "a state that nobody knows is no state")
	}
}

func TestPartitionsKeepTheirCounts(t *testing.T) {
	var s fleet.BundleSummary
	Add(&s, Entry{Name: "a", State: fleet.Modified, Modified: []fleet.ModifiedStatus{{Name: "x"}}})
	kept := Partitions([]fleet.PartitionStatus{{Name: "All", Count: 3, Unavailable: 1, MaxUnavailable: 2, Summary: s}})
	require.Len(t, kept, 1)
	assert.Equal(t, fleet.PartitionStatus{Name: "All", Count: 3, Unavailable: 1, MaxUnavailable: 2, Summary: fleet.BundleSummary{
		Modified: 1, DesiredReady: 1, NonReadyResources: []fleet.NonReadyResource{{Name: "a", State: fleet.Modified}},
	}}, kept[0])
	assert.NotEmpty(t, s.NonReadyResources[0].ModifiedStatus, "what it was made from is not changed")
}
