package drift

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rancher/wrangler/v3/pkg/summary"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

// golden is a folder of testdata: desired, previous, live and options in, result out.
func TestStatusOfGoldenReleases(t *testing.T) {
	folders, err := filepath.Glob("testdata/status/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			read := func(name string) string {
				raw, err := os.ReadFile(filepath.Join(folder, name))
				if !os.IsNotExist(err) {
					require.NoError(t, err)
				}
				return string(raw)
			}
			result := Status(Input{
				Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: ours(objects(t, read("desired.yaml"))),
					Previous: ours(objects(t, read("previous.yaml"))), Options: options(t, read("options.yaml"))},
				Scope: scope, Live: ours(objects(t, read("live.yaml"))),
			})
			ready, message := result.Condition()
			raw, err := yaml.Marshal(map[string]any{"result": result, "ready": ready, "message": message})
			require.NoError(t, err)
			file := filepath.Join(folder, "result.yaml")
			if *update {
				require.NoError(t, os.WriteFile(file, raw, 0o644))
			}
			assert.Equal(t, read("result.yaml"), string(raw))
		})
	}
}

// many are n objects.
func many(n int, form string) string {
	var document strings.Builder
	for i := range n {
		fmt.Fprintf(&document, "\n---\n"+form, i)
	}
	return document.String()
}

func TestListsAreCutAndCountsAreNot(t *testing.T) {
	const form = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%04d, uid: u}\ndata: {a: %[1]d}"
	desired := objects(t, many(1500, form))
	result := Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope})
	assert.Len(t, result.ModifiedStatus, 10)
	assert.Equal(t, "configmap.v1 default/c0000 missing", result.ModifiedStatus[0].String())
	assert.True(t, result.Incomplete)
	assert.Equal(t, fleet.ResourceCounts{DesiredReady: 1500, Missing: 1500}, result.ResourceCounts)
	assert.Empty(t, result.Resources)

	live := objects(t, many(1500, strings.ReplaceAll(form, "{name", "{namespace: default, name")))
	result = Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope, Live: ours(live)})
	assert.True(t, result.Ready && result.NonModified, "%+v", result.ModifiedStatus)
	assert.Equal(t, fleet.ResourceCounts{DesiredReady: 1500, Ready: 1500}, result.ResourceCounts)
	assert.Len(t, result.Resources, 1000)
	assert.True(t, result.Incomplete)
}

func TestEntriesAreSortedByKindAndByUID(t *testing.T) {
	desired := objects(t, many(3, "apiVersion: v1\nkind: Secret\nmetadata: {name: s%d}")+many(3, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}"))
	live := objects(t, many(3, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, namespace: default, uid: u%[1]d, generation: 2}\nstatus: {observedGeneration: 1}"))
	live[0].SetUID("u9")
	result := Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope, Live: ours(live)})
	var modified, nonReady []string
	for _, entry := range result.ModifiedStatus {
		modified = append(modified, entry.Name)
	}
	for _, entry := range result.NonReadyStatus {
		nonReady = append(nonReady, entry.Name)
	}
	assert.Equal(t, []string{"s0", "s1", "s2"}, modified)
	assert.Equal(t, []string{"d1", "d2", "d0"}, nonReady)
	assert.Equal(t, fleet.ResourceCounts{DesiredReady: 6, Missing: 3, NotReady: 3}, result.ResourceCounts)
	assert.Empty(t, Result{}.ModifiedStatus)
}

// X10: whatever is found, the objects that are wanted are counted, and the states add up to them.
func TestCountsComeFromWhatIsWanted(t *testing.T) {
	desired := objects(t, many(4, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {a: b}"))
	for present := range 1 << 4 {
		for changed := range 1 << 4 {
			var live strings.Builder
			for i := range 4 {
				if present&(1<<i) != 0 {
					fmt.Fprintf(&live, "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: default}\ndata: {a: b%s}",
						i, strings.Repeat("x", changed>>i&1))
				}
			}
			counts := Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope,
				Live: ours(objects(t, live.String()))}).ResourceCounts
			assert.Equal(t, 4, counts.DesiredReady)
			assert.Equal(t, counts.DesiredReady, counts.Ready+counts.Missing+counts.Modified+counts.Orphaned+counts.NotReady)
		}
	}
}

func TestWhatIsRepeatedOfTheClusterIsBounded(t *testing.T) {
	long := strings.Repeat("ä\x00\u202e", 5000)
	desired := objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}")
	desired[0].Object["data"] = map[string]any{"a": long}
	live := ours(objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: default}"))
	live[1].Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "message": long}, map[string]any{"type": "Failed", "status": "True", "message": long + "x"},
	}}
	result := Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope, Live: live})
	require.Len(t, result.ModifiedStatus, 1)
	require.Len(t, result.NonReadyStatus, 1)
	assert.LessOrEqual(t, len(result.ModifiedStatus[0].Patch), maxPatch)
	assert.True(t, strings.HasSuffix(result.ModifiedStatus[0].Patch, "..."))
	for _, message := range result.NonReadyStatus[0].Summary.Message {
		assert.LessOrEqual(t, len(message), maxReason)
		assert.NotContains(t, message, "\x00")
		assert.NotContains(t, message, "\u202e")
	}
	_, message := result.Condition()
	assert.LessOrEqual(t, len(message), maxMessage)
}

// Names may have 253 characters, and a status all of them that it has room for.
func TestLongNamesMakeNoStatusTooLarge(t *testing.T) {
	var desired, live []*unstructured.Unstructured
	for i := range 1500 {
		object := objectOf(t, map[string]any{"data": map[string]any{"a": strings.Repeat("b", 5000)}}, "v1", "ConfigMap")
		object.SetName(fmt.Sprintf("%0253d", i))
		object.SetNamespace(strings.Repeat("n", 63))
		changed := object.DeepCopy()
		changed.Object["data"] = map[string]any{"a": "c"}
		desired, live = append(desired, object), append(live, changed)
	}
	result := Status(Input{Wanted: Wanted{Hash: ourHash, Namespace: "default", Objects: desired}, Scope: scope, Live: live})
	assert.True(t, result.Incomplete)
	assert.Greater(t, len(result.Resources), 300)
	assert.Equal(t, 1500, result.ResourceCounts.DesiredReady, "the counts are of all")
	raw, err := json.Marshal(result)
	require.NoError(t, err)
	assert.Less(t, len(raw), 200<<10)
}

func TestConditionNamesWhatIsNotReadyFirst(t *testing.T) {
	modified := fleet.ModifiedStatus{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "c", Create: true}
	nonReady := fleet.NonReadyStatus{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "d",
		Summary: summary.Summary{State: "x", Transitioning: true, Message: []string{"coming"}}}
	for message, result := range map[string]Result{
		"":                          {Ready: true, NonModified: true},
		"configmap.v1 ns/c missing": {Ready: true, ModifiedStatus: []fleet.ModifiedStatus{modified}},
		"deployment.apps ns/d [progressing] coming": {ModifiedStatus: []fleet.ModifiedStatus{modified}, NonReadyStatus: []fleet.NonReadyStatus{nonReady}},
		"not ready":   {},
		"out of sync": {Ready: true},
	} {
		ready, got := result.Condition()
		assert.Equal(t, message, got)
		assert.Equal(t, message == "", ready)
	}
}
