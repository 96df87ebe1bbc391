package drift

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestComparePatches(t *testing.T) {
	const (
		desired = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: some-a}\nspec: {a: 1, b: {c/d: 1, e~f: 1}, list: [{x: 1}, {x: 2}]}"
		live    = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: some-a, namespace: default}\nspec: {a: 2, b: {c/d: 2, e~f: 2}, list: [{x: 1}, {x: 3}]}"
		all     = `{"spec":{"a":1,"b":{"c/d":1,"e~f":1},"list":[{"x":1},{"x":2}]}}`
		rest    = `{"spec":{"b":{"c/d":1,"e~f":1},"list":[{"x":1},{"x":2}]}}`
	)
	for _, test := range []struct{ name, patch, want string }{
		{"none", ``, all},
		{"a pointer", `{apiVersion: example.com/v1, kind: Thing, jsonPointers: [/spec/a]}`, rest},
		{"the version does not matter", `{apiVersion: example.com/v2, kind: Thing, jsonPointers: [/spec/a]}`, rest},
		{"another group", `{apiVersion: other.com/v1, kind: Thing, jsonPointers: [/spec/a]}`, all},
		{"another kind", `{apiVersion: example.com/v1, kind: Other, jsonPointers: [/spec/a]}`, all},
		{"its name", `{apiVersion: example.com/v1, kind: Thing, name: some-a, jsonPointers: [/spec/a]}`, rest},
		{"a part of its name", `{apiVersion: example.com/v1, kind: Thing, name: some, jsonPointers: [/spec/a]}`, all},
		{"an expression", `{apiVersion: example.com/v1, kind: Thing, name: some-.*, jsonPointers: [/spec/a]}`, rest},
		{"a broken expression", `{apiVersion: example.com/v1, kind: Thing, name: "some-[", jsonPointers: [/spec/a]}`, all},
		{"its namespace", `{apiVersion: example.com/v1, kind: Thing, namespace: default, jsonPointers: [/spec/a]}`, rest},
		{"another namespace", `{apiVersion: example.com/v1, kind: Thing, namespace: other, jsonPointers: [/spec/a]}`, all},
		{"escapes", `{apiVersion: example.com/v1, kind: Thing, jsonPointers: [/spec/b/c~1d, /spec/b/e~0f, /spec/list]}`, `{"spec":{"a":1}}`},
		{"into lists", `{apiVersion: example.com/v1, kind: Thing, jsonPointers: [/spec/a, /spec/b, /spec/list/1/x]}`, ``},
		{"what is not there", `{apiVersion: example.com/v1, kind: Thing, jsonPointers: [/spec/none, /spec/list/9, /spec/a]}`, rest},
		{"no pointer at all", `{apiVersion: example.com/v1, kind: Thing, jsonPointers: [spec, "", /, "/spec/a/b/c"]}`, all},
		{"remove", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: remove, path: /spec/a}]}`, rest},
		{"replace", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: replace, path: /spec/a, value: "7"}]}`, rest},
		{"replace by text", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: replace, path: /spec/a, value: text}]}`, rest},
		{"add", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: add, path: /spec, value: "{}"}]}`, ``},
		{"an operation that is none", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: destroy, path: /spec/a}]}`, all},
		{"ignore is about what is missing", `{apiVersion: example.com/v1, kind: Thing, operations: [{op: ignore}]}`, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pair{desired: desired, live: live}
			if test.patch != "" {
				p.options = "diff: {comparePatches: [" + test.patch + "]}"
			}
			assert.Equal(t, test.want, p.patchOf(t))
		})
	}
}

func TestReplicasAreAnAutoscalersWithinItsBounds(t *testing.T) {
	const (
		workload   = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}"
		autoscaler = "\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1beta1, kind: Deployment, name: a}}"
	)
	for replicas, test := range map[string]struct {
		desired string
		drift   bool
	}{
		"3": {workload + autoscaler, false},
		"5": {workload + autoscaler, false},
		"6": {workload + autoscaler, true},
		"0": {workload + autoscaler, true},
		"2": {workload, true},
	} {
		live := ours(objects(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: default}\nspec: {replicas: "+replicas+"}"))
		plan := Compile(Wanted{Hash: ourHash, Namespace: "default", Objects: objects(t, test.desired)}, scope)
		found, _ := plan.Examine(keyOf(live[0], "default", scope), live[0])
		assert.Equal(t, test.drift, found.Patch != "", "%s replicas: %s", replicas, found.Patch)
	}
}

// A bundle's options and the cluster's objects are others' writing: nothing of it may end the agent, and with the same
// object on both sides there is never a difference.
func FuzzComparePatches(f *testing.F) {
	f.Add(`{"spec":{"a":1,"b":[{"name":"x"}]}}`, "/spec/a", "replace", "/spec/b/0", `{"x":1}`, "a.*")
	f.Add(`{"spec":{"containers":[1,null,{}]},"metadata":{"labels":{"a":1}}}`, "/spec/containers/-1", "add", "/spec/containers/-", `[`, "[")
	f.Add(`{"data":{"a":"b"},"status":{"conditions":"x"}}`, "~", "test", "//", ``, "")
	f.Add(`{"metadata":[],"spec":null,"status":{"conditions":[1,{"type":1}]}}`, "/metadata/0", "remove", "/0/0", `null`, "(")
	f.Add(`{"sTAtus":{"Conditions":[0]}}`, "0", "0", "0", "0", "0")
	f.Add(`{"spec":{"template":{"spec":{"containers":[1,"a"]}},"ports":[[1]]}}`, "0", "0", "0", "0", "0")
	f.Fuzz(func(t *testing.T, document, pointer, op, path, value, name string) {
		var content map[string]any
		if json.Unmarshal([]byte(document), &content) != nil || content == nil {
			return
		}
		for _, kind := range []string{"apps/v1 Deployment", "example.com/v1 Thing", "v1 Secret", "v1 Service"} {
			apiVersion, kind := split(kind)
			obj := objectOf(t, content, apiVersion, kind)
			patch := fleet.ComparePatch{APIVersion: apiVersion, Kind: kind, JsonPointers: []string{pointer},
				Operations: []fleet.Operation{{Op: op, Path: path, Value: value}, {Op: "ignore"}}}
			named := patch
			named.Name = name
			wanted := Wanted{Hash: ourHash, Namespace: "default", Objects: ours(objectsOf(obj.DeepCopy()))}
			wanted.Options.Diff = &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{patch, named}}
			result := Status(Input{Wanted: wanted, Scope: scope, Live: objectsOf(obj.DeepCopy())})
			require.True(t, result.NonModified || kind == "Secret", "%+v", result.ModifiedStatus)
			other := objectOf(t, map[string]any{}, apiVersion, kind)
			result = Status(Input{Wanted: wanted, Scope: scope, Live: objectsOf(other)})
			raw, err := json.Marshal(result)
			require.NoError(t, err)
			require.Less(t, len(raw), 8192)
		}
	})
}
