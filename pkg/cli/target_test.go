package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/names"
)

func withHelmValues(b *fleet.Bundle) {
	b.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"host": "${ .ClusterName }.example.com", "password": "canary"}}}
}

func TestTargetPrintsWhatTheHubWouldMake(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	h.hosts("edge-2", inProd)
	h.hosts("lab", nil)
	file := written(t, aBundle(configMapYAML, withHelmValues))
	h.Reset()
	code, out, errOut := typed("target", "-b", file)
	require.Zero(t, code, errOut)
	assert.Empty(t, h.Writes(), "nothing is written")
	all, err := documents([]byte(out))
	require.NoError(t, err)
	require.Len(t, all, 3)
	var stored fleet.Content
	require.NoError(t, yaml.Unmarshal(all[0], &stored))
	var bd fleet.BundleDeployment
	require.NoError(t, yaml.Unmarshal(all[2], &bd))
	assert.Equal(t, "BundleDeployment", bd.Kind)
	assert.Equal(t, names.ClusterNamespace("fleet-default", "edge-2"), bd.Namespace)
	assert.Equal(t, "edge-2.example.com", bd.Spec.Options.Helm.Values.Data["host"])
	assert.True(t, strings.HasPrefix(bd.Spec.DeploymentID, stored.Name+":"))

	code, out, _ = typed("target", "-b", file, "--cluster", "edge-1", "-o", "json")
	require.Zero(t, code)
	var list items[map[string]any]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	assert.Len(t, list.Items, 2)
}

func TestTargetSaysWhichClustersItCannotServe(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	h.put("Cluster", aCluster("fleet-default", "homeless", func(c *fleet.Cluster) { c.Labels = inProd }))
	code, out, errOut := typed("target", "-b", written(t, aBundle(configMapYAML)))
	assert.Equal(t, 1, code)
	assert.Contains(t, out, names.ClusterNamespace("fleet-default", "edge-1"))
	assert.Contains(t, errOut, "Not made: cluster fleet-default/homeless: the cluster has no namespace on the hub yet")

	code, out, errOut = typed("target", "-b", written(t, aBundle(configMapYAML, func(b *fleet.Bundle) { b.Spec.Targets = nil })))
	assert.Zero(t, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "targets no cluster")
}

func TestTargetExplainsEveryCluster(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	h.hosts("edge-2", map[string]string{"env": "prod", "old": "yes"})
	h.hosts("lab", nil)
	file := written(t, aBundle(configMapYAML, func(b *fleet.Bundle) {
		b.Spec.Targets = append(b.Spec.Targets, fleet.BundleTarget{Name: "never", ClusterName: "edge-2", DoNotDeploy: true})
	}))
	code, out, errOut := typed("target", "-b", file, "--explain")
	require.Zero(t, code, errOut)
	golden(t, "target-explain", out)

	code, _, errOut = typed("target", "-b", file, "--explain", "--cluster", "nope")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "there is no cluster nope")
}

// What would be created, changed and removed is told before it happens, without values.
func TestTargetTellsWhatWouldChange(t *testing.T) {
	h := newDeliveryHub(t)
	for _, name := range []string{"edge-1", "edge-2"} {
		h.hosts(name, inProd)
	}
	h.delivered(aBundle(configMapYAML))
	h.hosts("edge-2", map[string]string{"env": "test"})
	h.hosts("edge-3", inProd)
	h.Reset()
	file := written(t, aBundle(configMapYAML+"# changed", withHelmValues, func(b *fleet.Bundle) {
		b.Spec.Resources = append(b.Spec.Resources, fleet.BundleResource{Name: "more.yaml"})
	}))
	code, out, errOut := typed("target", "-b", file, "--diff")
	require.Zero(t, code, errOut)
	assert.Empty(t, h.Writes())
	assert.NotContains(t, out, "canary")
	golden(t, "target-diff", out)

	code, out, _ = typed("target", "-b", file, "--diff", "-o", "json")
	require.Zero(t, code)
	var list items[delivery.DeploymentChange]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Items, 3)
	assert.Equal(t, delivery.Remove, list.Items[2].Action)
	assert.Equal(t, []string{"app.yaml"}, list.Items[1].Changed)
}

func TestTheInputOfTargetingHasNoValues(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	code, out, errOut := typed("target", "-b", written(t, aBundle(configMapYAML, withHelmValues)), "-l")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "kind: Cluster\n")
	assert.NotContains(t, out, "canary")
}

func TestFilesThatTargetCannotUse(t *testing.T) {
	newDeliveryHub(t)
	for text, says := range map[string]string{
		"":                                     "is empty",
		"---\n":                                "it must be one Bundle",
		"kind: Bundle\n---\nkind: Bundle\n":    "it must be one Bundle",
		"kind: GitRepo\nmetadata: {name: x}\n": "it must be a Bundle",
		"kind: Bundle\n":                       "metadata.name",
		"kind: [":                              "is no YAML",
		"kind: Bundle\nspec: 5\n":              "is no Bundle: spec cannot be a number",
		"kind: Bundle\nspec: {targets: 5}\n":   "is no Bundle: spec.targets cannot be a number",
		"\xc3\x28":                             "is no YAML",
	} {
		file := filepath.Join(t.TempDir(), "bundle.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		code, out, errOut := typed("target", "-b", file)
		assert.NotZero(t, code, text)
		assert.Empty(t, out)
		assert.Contains(t, errOut, says, text)
	}
	for line, says := range map[string]string{
		"target":                       "needs --bundle-file",
		"target -b x --explain --diff": "exclude each other",
		"target -b x --cluster A_b":    "cannot be",
		"deploy":                       "needs --input-file",
		"deploy -i x --diff -d":        "exclude each other",
	} {
		code, _, errOut := typed(strings.Fields(line)...)
		assert.Equal(t, usageError, code, line)
		assert.Contains(t, errOut, says, line)
	}
	other := written(t, aBundle("x"))
	code, _, errOut := typed("target", "-b", other, "-n", "team")
	assert.Equal(t, usageError, code)
	assert.Contains(t, errOut, "-n team is another")
}

func TestNamesOfClustersAndBundlesAreCompleted(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	h.put("Bundle", aBundle("x"))
	for line, want := range map[string]string{"target --cluster ": "edge-1", "bundle explain a": "app", "bundle ": "explain"} {
		words := strings.Split(line, " ")
		_, out, _ := typed(append([]string{"__complete", "--"}, words...)...)
		assert.Equal(t, want, strings.SplitN(out, "\n", 2)[0], line)
	}
}

func TestStandardInputIsRead(t *testing.T) {
	app := newApp(&bytes.Buffer{}, &bytes.Buffer{})
	app.Reader = strings.NewReader(`{"kind":"Bundle","metadata":{"name":"app","namespace":"fleet-default"},"typo":1}`)
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	var errOut bytes.Buffer
	app.ErrWriter = &errOut
	require.NoError(t, app.Run([]string{"fleet", "target", "-b", "-"}))
	assert.Contains(t, errOut.String(), `unknown field "typo"`)
}

func TestFilesThatCannotBeReadAreNamedWithTheWayOut(t *testing.T) {
	newDeliveryHub(t)
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	file, err := os.Create(large)
	require.NoError(t, err)
	require.NoError(t, file.Truncate(maxInput+1))
	require.NoError(t, file.Close())
	for path, says := range map[string]string{
		filepath.Join(dir, "missing.yaml"): "no such file or directory; name another file",
		dir:                                "is a directory: name a file",
		large:                              "it is not the file of one bundle",
	} {
		for _, line := range [][]string{{"target", "-b", path}, {"deploy", "-i", path, "-d"}} {
			code, out, errOut := typed(line...)
			assert.Equal(t, 1, code, line)
			assert.Empty(t, out)
			assert.Contains(t, errOut, path)
			assert.Contains(t, errOut, says)
		}
	}
}

// Fields that are mistyped are named with their path, also where only upper and lower case differ, and keys that are there
// twice.
func TestWhatIsNotUnderstoodIsTold(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	text := "kind: Bundle\nmetadata: {name: app, namespace: fleet-default}\nspec: {paused: true, paused: false, resourcez: [], Targets: []}\n"
	code, _, errOut := typed("target", "-b", fileOf(t, text))
	require.Zero(t, code, errOut)
	for _, says := range []string{`unknown field "spec.resourcez"`, `unknown field "spec.Targets"`, `key "paused" already set`} {
		assert.Contains(t, errOut, says)
	}
}

// Of what is copied to clusters the diff tells whether it is there and whether it differs, never what is in it.
func TestTheDiffKnowsWhatIsCopied(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	copying := func(b *fleet.Bundle) {
		b.Spec.DownstreamResources = []fleet.DownstreamResource{{Kind: "Secret", Name: "pull"}}
	}
	h.delivered(aBundle(configMapYAML, copying))
	file := written(t, aBundle(configMapYAML, copying))
	code, out, errOut := typed("target", "-b", file, "--diff")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "downstreamResources: waiting for secret fleet-default/pull")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "pull"}, Data: map[string][]byte{"k": []byte("canary")}}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	h.Put(secret)
	code, out, errOut = typed("target", "-b", file, "--diff")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "content of downstreamResources; copied: secret pull")
	assert.NotContains(t, out+errOut, "canary")
}
