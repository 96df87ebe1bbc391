package rancher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// stateWords are those that the user interface has a colour for. It throws at any other.
var stateWords = map[string]bool{
	"": true, "ready": true, "notready": true, "outofsync": true, "pending": true, "modified": true, "missing": true,
	"orphaned": true, "unknown": true, "waitapplied": true, "errapplied": true, "waitcheckin": true, "active": true,
	"error": true, "paused": true, "unavailable": true, "updating": true,
}

// countKeys are read without a look whether they are there.
var countKeys = []string{"ready", "desiredReady", "waitApplied", "modified", "orphaned", "missing", "unknown", "notReady"}

// oneOf is how many of how many, which is taken apart.
var oneOf = regexp.MustCompile(`^\d+/\d+$`)

// judge says what of an object Rancher or its user interface would stumble over.
func judge(resource string, u *unstructured.Unstructured) []string {
	var found []string
	problem := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if err := decode(resource, u); err != nil {
		problem("the Go type does not take it: %v", err)
	}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	display, _, _ := unstructured.NestedMap(status, "display")
	if word := fmt.Sprint(orEmpty(display["state"])); !stateWords[strings.ToLower(word)] {
		problem("status.display.state is %q, for which there is no colour", word)
	}
	for _, key := range []string{"readyBundles", "readyClusters"} {
		text := fmt.Sprint(orEmpty(display[key]))
		if numbers, _, _ := strings.Cut(text, " "); text != "" && !oneOf.MatchString(numbers) {
			problem("status.display.%s is %q, which is not so many of so many", key, text)
		}
	}
	found = append(found, judgeSummary(status)...)
	switch {
	case resource == "bundles":
		if targets, has, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "targets"); has && targets == nil {
			problem("spec.targets is null, which cannot be iterated over")
		}
	case resource == "bundledeployments":
		for _, key := range []string{fleet.BundleLabel, fleet.BundleNamespaceLabel, fleet.ClusterLabel, fleet.ClusterNamespaceLabel} {
			if u.GetLabels()[key] == "" {
				problem("no label %s", key)
			}
		}
	case len(status) > 0: // clusters and their groups; written at all, it has the counts
		counts, _, _ := unstructured.NestedMap(status, "resourceCounts")
		for _, key := range countKeys {
			if _, has := counts[key]; !has {
				problem("status.resourceCounts.%s is missing", key)
			}
		}
	}
	return append(found, judgeConditions(status)...)
}

// judgeSummary looks for what makes Rancher panic: failures of which the first is not there.
func judgeSummary(status map[string]any) []string {
	failed, _, _ := unstructured.NestedInt64(status, "summary", "errApplied")
	first, _, _ := unstructured.NestedSlice(status, "summary", "nonReadyResources")
	if failed == 0 {
		return nil
	}
	if len(first) == 0 {
		return []string{"status.summary.errApplied is not 0, and nonReadyResources is empty"}
	}
	return nil
}

// judgeConditions looks for conditions without the time that lists show.
func judgeConditions(status map[string]any) []string {
	var found []string
	list, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, one := range list {
		if c, ok := one.(map[string]any); ok && orEmpty(c["lastUpdateTime"]) == "" {
			found = append(found, fmt.Sprintf("condition %v has no lastUpdateTime", c["type"]))
		}
	}
	return found
}

// decode reads an object as Rancher does, into the types that it imports, and takes no field that they do not know.
func decode(resource string, u *unstructured.Unstructured) error {
	into := map[string]any{
		"clusters": &fleet.Cluster{}, "bundles": &fleet.Bundle{}, "clustergroups": &fleet.ClusterGroup{}, "bundledeployments": &fleet.BundleDeployment{},
	}[resource]
	text, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func orEmpty(value any) any {
	if value == nil {
		return ""
	}
	return value
}
