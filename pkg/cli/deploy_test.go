package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// targeted is what `fleet target` prints of a bundle for one cluster.
func targeted(t *testing.T, b *fleet.Bundle) (file, text string) {
	t.Helper()
	code, out, errOut := typed("target", "-b", written(t, b), "--cluster", "edge-1")
	require.Zero(t, code, errOut)
	return fileOf(t, out), out
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const anotherYAML = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: another}\n"

// The cluster is the hub's own here: one server has both.
func TestWhatTargetPrintsIsDeployed(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	file, _ := targeted(t, aBundle(configMapYAML+anotherYAML))

	code, out, errOut := typed("deploy", "-i", file, "-n", "apps", "--dry-run")
	require.Zero(t, code, errOut)
	all, err := documents([]byte(out))
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Contains(t, out, "namespace: apps")

	code, out, errOut = typed("deploy", "-i", file, "-n", "apps", "--diff")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "create 2, take over 0, change 0, remove 0;")
	assert.Contains(t, errOut, "There is no release app in namespace apps yet.")
	assert.Nil(t, h.Object("ConfigMap", "apps", "settings"))

	code, out, errOut = typed("deploy", "-i", file, "-n", "apps")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "Deployed app: release apps/app:1, objects: 2.")
	assert.NotNil(t, h.Object("ConfigMap", "apps", "settings"))

	code, out, errOut = typed("deploy", "-i", file, "-n", "apps", "--diff")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "create 0, take over 0, change 0, remove 0; keep 0, run 0, same 2")

	changed, _ := targeted(t, aBundle(strings.Replace(configMapYAML, "two", "three", 1)))
	code, out, errOut = typed("deploy", "-i", changed, "-n", "apps", "--diff")
	require.Zero(t, code, errOut)
	rows := cells(out)
	assert.Equal(t, []string{"change", "ConfigMap apps/settings", "data.key"}, rows[1])
	assert.Equal(t, []string{"remove", "ConfigMap apps/another", "-"}, rows[2])
	assert.NotNil(t, h.Object("ConfigMap", "apps", "another"), "a dry run removes nothing")
}

// A release that an agent has is not taken away from it: it would be left behind when its BundleDeployment goes.
func TestAReleaseOfAnAgentIsNotTakenAway(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	file, _ := targeted(t, aBundle(configMapYAML))
	code, _, errOut := typed("deploy", "-i", file, "-n", "apps", "-a", "cattle-fleet-system")
	require.Zero(t, code, errOut)

	code, out, errOut := typed("deploy", "-i", file, "-n", "apps")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, `release apps/app belongs to the agent in namespace "cattle-fleet-system": add -a`)
	code, _, errOut = typed("deploy", "-i", file, "-n", "apps", "--diff")
	assert.Zero(t, code)
	assert.Contains(t, errOut, "would be refused")
	code, _, errOut = typed("deploy", "-i", file, "-n", "apps", "-a", "cattle-fleet-system")
	assert.Zero(t, code, errOut)
}

func TestABundleWithAServiceAccountNeedsTheAgentsNamespace(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	file, _ := targeted(t, aBundle(configMapYAML, func(b *fleet.Bundle) { b.Spec.ServiceAccount = "deployer" }))
	code, _, errOut := typed("deploy", "-i", file)
	assert.Equal(t, usageError, code)
	assert.Contains(t, errOut, "name that with --agent-namespace")
}

func TestFilesThatDeployCannotUse(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	_, text := targeted(t, aBundle(configMapYAML))
	all, err := documents([]byte(text))
	require.NoError(t, err)
	content, deployment := string(all[0]), string(all[1])
	edited := func(change func(*unstructured.Unstructured)) string {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(all[1], &u.Object))
		change(u)
		out, err := yaml.Marshal(u.Object)
		require.NoError(t, err)
		return content + "---\n" + string(out)
	}
	for says, text := range map[string]string{
		"there is no Content s-":          deployment,
		"has 0 BundleDeployments":         content,
		"has 2 BundleDeployments":         content + "---\n" + deployment + "---\n" + deployment,
		`kind "Pod" has no business here`: "kind: Pod",
		"spec.ociContents":                edited(func(u *unstructured.Unstructured) { set(u, true, "spec", "ociContents") }),
		"spec.deploymentID is empty":      edited(func(u *unstructured.Unstructured) { set(u, "", "spec", "deploymentID") }),
		"its values are in the Secret":    edited(func(u *unstructured.Unstructured) { set(u, "abc", "spec", "valuesHash") }),
		"which only that agent deploys":   edited(func(u *unstructured.Unstructured) { u.SetName("fleet-agent-edge-1") }),
		"has other values than":           edited(func(u *unstructured.Unstructured) { set(u, "abc", "spec", "valuesHash") }) + "---\nkind: Secret\nmetadata: {name: app, namespace: " + names.ClusterNamespace("fleet-default", "edge-1") + "}\n",
		"is damaged":                      strings.Replace(content, "sha256sum: ", "sha256sum: 0", 1) + "---\n" + deployment,
	} {
		code, out, errOut := typed("deploy", "-i", fileOf(t, text), "--dry-run")
		assert.Equal(t, 1, code, says)
		assert.Empty(t, out, says)
		assert.Contains(t, errOut, says)
	}
}

// A list is what `fleet target -o json` prints; what is not understood is told, and so is what only an agent brings along.
func TestAListIsDeployedAndWhatIsLeftOutIsTold(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	bundle := written(t, aBundle(configMapYAML, func(b *fleet.Bundle) {
		b.Spec.DownstreamResources = []fleet.DownstreamResource{{Kind: "Secret", Name: "pull"}}
	}))
	code, list, errOut := typed("target", "-b", bundle, "-o", "json")
	require.Zero(t, code, errOut)
	list = strings.Replace(list, `"options":`, `"option": {}, "options":`, 1)
	code, out, errOut := typed("deploy", "-i", fileOf(t, list), "--dry-run", "--kube-version", "v1.30.0")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "name: settings")
	assert.Contains(t, errOut, `unknown field "spec.option"`)
	assert.Contains(t, errOut, "only an agent copies them to its cluster")

	code, _, errOut = typed("deploy", "-i", fileOf(t, "kind: BundleDeployment\nspec: {options: 5}\n"), "-d")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "spec.options cannot be a number")
}

func set(u *unstructured.Unstructured, value any, path ...string) {
	_ = unstructured.SetNestedField(u.Object, value, path...)
}
