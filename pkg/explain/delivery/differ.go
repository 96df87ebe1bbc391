package delivery

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Fields that are told under a name of their own.
const (
	fieldContent = "content"
	fieldValues  = "helm.values"
	fieldLabels  = "labels"
	fieldCopies  = "content of downstreamResources"
)

// versioned are the fields of a deployment's spec that say which version it is: they are compared apart.
var versioned = []string{"options", "deploymentID", "stagedOptions", "stagedDeploymentID", "valuesHash", "waitingForValues", "downstreamResourcesGeneration"}

// differing names what differs between a deployment and what it is to become, sorted.
func differing(have, want *fleet.BundleDeployment) []string {
	found := map[string]bool{}
	if manifestOf(have.Spec.DeploymentID) != manifestOf(want.Spec.DeploymentID) {
		found[fieldContent] = true
	}
	for _, field := range paths("", fields(have.Spec.Options), fields(want.Spec.Options), 2) {
		found[field] = true
	}
	// The digest is that of both versions' values: it tells only where they are one.
	if have.Spec.DeploymentID == have.Spec.StagedDeploymentID && have.Spec.ValuesHash != want.Spec.ValuesHash {
		found[fieldValues] = true
	}
	if have.Spec.DownstreamResourcesGeneration != want.Spec.DownstreamResourcesGeneration {
		found[fieldCopies] = true
	}
	before, after := fields(have.Spec), fields(want.Spec)
	for _, key := range versioned {
		delete(before, key)
		delete(after, key)
	}
	for _, field := range paths("", before, after, 1) {
		found[field] = true
	}
	// The label that names the content follows from the version.
	ofVersion := func(key, _ string) bool { return key == fleet.ContentNameLabel }
	labels, wanted := maps.Clone(have.Labels), maps.Clone(want.Labels)
	maps.DeleteFunc(labels, ofVersion)
	maps.DeleteFunc(wanted, ofVersion)
	if !maps.Equal(labels, wanted) {
		found[fieldLabels] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// fields are those of a value as JSON has them.
func fields(value any) map[string]any {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var decoded map[string]any
	if json.Unmarshal(encoded, &decoded) != nil {
		return nil
	}
	return decoded
}

// paths are the paths at which two maps differ, down to a depth. Absent and empty are the same.
func paths(above string, a, b map[string]any, depth int) []string {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, y := a[key], b[key]
		if equality.Semantic.DeepEqual(x, y) || isEmpty(x) && isEmpty(y) {
			continue
		}
		below, ok := x.(map[string]any)
		other, both := y.(map[string]any)
		if depth > 1 && (ok && both || ok && y == nil || both && x == nil) {
			found = append(found, paths(above+key+".", below, other, depth-1)...)
			continue
		}
		found = append(found, above+key)
	}
	return found
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	}
	return false
}
