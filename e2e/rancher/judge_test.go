package rancher

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const goodCluster = `
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: edge-1}
status:
  conditions: [{type: Ready, status: "True", lastUpdateTime: "2026-01-01T00:00:00Z"}]
  display: {readyBundles: 1/2, state: ErrApplied}
  summary: {ready: 1, desiredReady: 2, errApplied: 1, nonReadyResources: [{name: web, message: wrong}]}
  resourceCounts: {ready: 0, desiredReady: 0, waitApplied: 0, modified: 0, orphaned: 0, missing: 0, unknown: 0, notReady: 0}
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	source, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(source)) // with numbers as clients have them
	return u
}

// Each fault that the reader is there for is one that it finds.
func TestTheReaderStumblesOverEachFault(t *testing.T) {
	require.Empty(t, judge("clusters", object(t, goodCluster)))
	for _, fault := range []struct{ good, bad, finding string }{
		{"state: ErrApplied", "state: Silent", "no colour"},
		{"readyBundles: 1/2", "readyBundles: most", "so many of so many"},
		{"nonReadyResources: [{name: web, message: wrong}]", "nonReadyResources: []", "nonReadyResources is empty"},
		{"orphaned: 0, ", "", "resourceCounts.orphaned is missing"},
		{`lastUpdateTime: "2026-01-01T00:00:00Z"`, "message: none", "no lastUpdateTime"},
		{"status:\n", "status:\n  surprise: 1\n", "the Go type does not take it"},
		{"desiredReady: 2", "desiredReady: two", "the Go type does not take it"},
	} {
		found := judge("clusters", object(t, strings.Replace(goodCluster, fault.good, fault.bad, 1)))
		require.Len(t, found, 1, fault.bad)
		assert.Contains(t, found[0], fault.finding)
	}
	bundle := object(t, "apiVersion: v1\nkind: Bundle\nmetadata: {name: b}\nspec: {targets: null}\n")
	assert.Contains(t, judge("bundles", bundle), "spec.targets is null, which cannot be iterated over")
	assert.Len(t, judge("bundledeployments", object(t, "apiVersion: v1\nkind: BundleDeployment\nmetadata: {name: b}\n")), 4, "four labels")
}

// What the data says decodes into the types as it is written: nulls, empty objects and all.
func TestTheDataIsOfTheTypes(t *testing.T) {
	for _, p := range []Provisioned{{Name: LocalName}, {Name: "edge-1", Scheduling: map[string]any{}, Labels: map[string]string{"a": "b"}}} {
		cluster, err := read("cluster.yaml", p)
		require.NoError(t, err)
		require.NoError(t, decode("clusters", cluster))
		_, local, _ := unstructured.NestedString(cluster.Object, "spec", "agentNamespace")
		assert.Equal(t, p.Local(), local)
	}
	bundle, err := read("managedchart.yaml", ManagedChart{Name: "web", Chart: map[string]string{"Chart.yaml": "name: web"}})
	require.NoError(t, err)
	require.NoError(t, decode("bundles", bundle))
	_, err = read("clustergroup.yaml", struct{}{})
	assert.Error(t, err, "a field that the data needs is missing")
}
