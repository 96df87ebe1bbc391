package render

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
)

var update = flag.Bool("update", false, "write the golden files")

// kinds knows a few.
type kinds struct{}

func (kinds) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	switch kind.Kind {
	case "Namespace", "ClusterRole", "CustomResourceDefinition":
		return false, nil
	}
	return true, nil
}

func file(name, text string) content.File { return content.File{Name: name, Data: []byte(text)} }

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  key: " + value + "\n"
}

// finished renders a bundle whose chart renders to a text.
func finished(t *testing.T, in Input, rendered string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	bundle, err := Prepare(in)
	if err != nil {
		return nil, err
	}
	objects, err := Decode([]byte(rendered))
	require.NoError(t, err)
	return (&Finish{Bundle: bundle, SetID: "default-" + in.Name, Namespace: "apps", Scopes: kinds{}}).Objects(objects)
}

func golden(t *testing.T, name string, objects []*unstructured.Unstructured) {
	t.Helper()
	got, err := Encode(objects)
	require.NoError(t, err)
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: a:1}, {name: b, image: b:1}]}
`

func TestStyles(t *testing.T) {
	overlaid := fleet.BundleDeploymentOptions{}
	overlaid.YAML = &fleet.YAMLOptions{Overlays: []string{"prod"}}
	kustomized := fleet.BundleDeploymentOptions{}
	kustomized.Kustomize = &fleet.KustomizeOptions{Dir: "overlays/prod"}
	for name, test := range map[string]struct {
		in       Input
		rendered string
	}{
		"raw": {in: Input{Files: []content.File{
			file("fleet.yaml", "namespace: x"), file("README.md", "# no manifest"),
			file("z.json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sa","namespace":"other"}}]}`),
			file("a.yml", configMap("a", "one")+"---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: space}\n"),
			file("sub/Chart.yaml", "name: other"), file("sub/templates/c.yaml", configMap("not", "{{ this }}")),
			file("overlays/x/a.yaml", configMap("not", "this")),
		}}},
		"overlays": {in: Input{Options: overlaid, Files: []content.File{
			file("web.yaml", deployment), file("a.yaml", configMap("a", "one")), file("b.yaml", configMap("b", "one")),
			file("c.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {list: [1, 2], size: 1}\n"),
			file("overlays/prod/web_patch.yaml", "spec: {template: {spec: {containers: [{name: b, image: b:2}]}}}\n"),
			file("overlays/prod/a_patch.yaml", "- {op: replace, path: /data/key, value: patched}\n"),
			file("overlays/prod/b.yaml", configMap("b", "replaced")),
			file("overlays/prod/c_patch.yaml", "spec: {list: [3]}\n"),
			file("overlays/prod/new.yaml", configMap("new", "added")),
		}}},
		"kustomize": {in: Input{Options: kustomized, Files: []content.File{
			file("base/kustomization.yaml", "resources: [a.yaml]\n"), file("base/a.yaml", configMap("a", "base")),
			file("overlays/prod/kustomization.yaml", "resources: [../../base]\nnamePrefix: prod-\npatches: [{path: p.yaml}]\n"),
			file("overlays/prod/p.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {more: added}\n"),
			file("not.yaml", configMap("not", "this")),
		}}},
		"chart and kustomize": {in: Input{Files: []content.File{
			file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"), file("templates/a.yaml", ""),
			file("kustomization.yaml", "namespace: moved\nresources: [extra.yaml]\n"), file("extra.yaml", configMap("extra", "one")),
		}}, rendered: configMap("rendered", "one")},
	} {
		t.Run(name, func(t *testing.T) {
			test.in.Name = "team/app"
			objects, err := finished(t, test.in, test.rendered)
			require.NoError(t, err)
			golden(t, strings.ReplaceAll(name, " ", "-"), objects)
		})
	}
}

func TestBundlesThatCannotBeRendered(t *testing.T) {
	overlay := func(name string) (options fleet.BundleDeploymentOptions) {
		options.YAML = &fleet.YAMLOptions{Overlays: []string{name}}
		return options
	}
	helm := func(options fleet.HelmOptions) fleet.BundleDeploymentOptions {
		return fleet.BundleDeploymentOptions{Helm: &options}
	}
	var lost fleet.BundleDeploymentOptions
	lost.Kustomize = &fleet.KustomizeOptions{Dir: "no"}
	kustomization := func(text string) Input {
		return Input{Files: []content.File{file("kustomization.yaml", text), file("a.yaml", configMap("a", "one")), file("github.com/x/y/kustomization.yaml", "resources: []")}}
	}
	for want, in := range map[string]Input{
		"has no files":             {},
		"has no manifest":          {Files: []content.File{file("README.md", "x")}},
		`yaml.overlays names "no"`: {Files: []content.File{file("a.yaml", configMap("a", "one"))}, Options: overlay("no")},
		`it patches "b.yaml", and the bundle has no such file`: {Files: []content.File{file("overlays/x/b_patch.yaml", "a: b")}, Options: overlay("x")},
		`helm.chart names "sub"`:                               {Files: []content.File{file("a.yaml", configMap("a", "one"))}, Options: helm(fleet.HelmOptions{Chart: "sub"})},
		`kustomize.dir names "no"`:                             {Files: []content.File{file("a.yaml", configMap("a", "one"))}, Options: lost},

		"https://example.com/a.yaml":           kustomization("resources: ['https://example.com/a.yaml']"),
		"github.com/x/y":                       kustomization("resources: ['github.com/x/y']"),
		"git@example.com:x/y":                  kustomization("components: ['git@example.com:x/y']"),
		"../../etc":                            kustomization("resources: ['../../etc']"),
		"HTTPS://example.com/p":                kustomization("patches: [{path: 'HTTPS://example.com/p'}]"),
		"http://example.com/cm":                kustomization("configMapGenerator: [{name: c, files: ['k=http://example.com/cm']}]"),
		"charts are not rendered by kustomize": kustomization("helmCharts: [{name: x}]"),
		"no built-in plugin":                   kustomization("generators: [a.yaml]"),
		`"x" is no file of the bundle`:         kustomization("transformers: [x]"),
		"http://example.com/t":                 kustomization("transformers: [\"apiVersion: builtin\\nkind: PatchTransformer\\nmetadata: {name: x}\\npath: http://example.com/t\\n\"]"),
	} {
		in.Name = "app"
		_, err := finished(t, in, "")
		require.ErrorContains(t, err, want)
	}
}

// What names no file may say what it likes.
func TestAddressesInContentAreNoneThatIsLoaded(t *testing.T) {
	objects, err := finished(t, Input{Name: "app", Files: []content.File{
		file("a.yaml", configMap("a", "one")),
		file("kustomization.yaml", "resources: [a.yaml]\nconfigMapGenerator: [{name: c, literals: ['url=https://example.com']}]\n"+
			"patches: [{target: {kind: ConfigMap, name: a}, patch: '[{\"op\": \"add\", \"path\": \"/data/u\", \"value\": \"https://example.com\"}]'}]\n"),
	}}, "")
	require.NoError(t, err)
	require.Len(t, objects, 2)
}

func TestTheTargetNamespaceTakesAll(t *testing.T) {
	bundle, err := Prepare(Input{Name: "app", Files: []content.File{file("a.yaml", configMap("a", "one")+"  \n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: elsewhere}\n")}})
	require.NoError(t, err)
	finish := &Finish{Bundle: bundle, SetID: "s", Namespace: "apps", Force: true, Scopes: kinds{}}
	objects, err := finish.Objects(nil)
	require.NoError(t, err)
	for _, object := range objects {
		assert.Equal(t, "apps", object.GetNamespace())
	}
	scoped, err := Decode([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: space}\n"))
	require.NoError(t, err)
	_, err = finish.Objects(scoped)
	var refused *ClusterScopedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []string{`Namespace "space"`}, refused.Objects)
}

func TestChartsAreFoundWhereTheyLie(t *testing.T) {
	chartYAML := "apiVersion: v2\nname: found\nversion: 1.0.0\nannotations: {own: kept}\n"
	remote := &fleet.HelmOptions{Repo: "https://charts.example.com", Chart: "c", Version: "1"}
	for name, test := range map[string]struct {
		at      string
		options *fleet.HelmOptions
	}{
		"at the root":             {"", nil},
		"in a folder":             {"sub/dir/", &fleet.HelmOptions{Chart: "./sub/dir"}},
		"fetched with the bundle": {FetchedFolder(remote), remote},
	} {
		t.Run(name, func(t *testing.T) {
			files := []content.File{file(test.at+"Chart.yaml", chartYAML), file(test.at+"templates/a.yaml", "x"), file("values.yaml", "no: 1")}
			options := fleet.BundleDeploymentOptions{Helm: test.options}
			assert.False(t, NeedsFetch(files, options))
			bundle, err := Prepare(Input{Name: "app", Files: files, Options: options, Annotations: map[string]string{"given": "too"}})
			require.NoError(t, err)
			assert.Equal(t, "found", bundle.Chart.Name())
			assert.Equal(t, map[string]string{"own": "kept", "given": "too"}, bundle.Chart.Metadata.Annotations)
			assert.Len(t, bundle.Chart.Templates, 1)
		})
	}
	assert.True(t, NeedsFetch(nil, fleet.BundleDeploymentOptions{Helm: remote}))
	assert.True(t, NeedsFetch(nil, fleet.BundleDeploymentOptions{Helm: &fleet.HelmOptions{Chart: "oci://example.com/c"}}))
	assert.False(t, NeedsFetch(nil, fleet.BundleDeploymentOptions{Helm: &fleet.HelmOptions{Chart: "sub"}}))
}

func TestAMadeChartSaysWhatItIsOf(t *testing.T) {
	for _, test := range []struct{ manifest, commit, want string }{
		{"s-0123", "", "v0.0.0+s-0123"},
		{"s-0123", "0123456789abcdef", "v0.0.0+git-0123456789ab"},
		{"", "", "v0.0.0"},
		{"not/a version", "", "v0.0.0+not-a-version"},
	} {
		made, err := makeChart(nil, Input{Name: "team/app", ManifestID: test.manifest, Commit: test.commit})
		require.NoError(t, err)
		assert.Equal(t, test.want, made.Metadata.Version)
		assert.Equal(t, "app", made.Metadata.Name)
		assert.Equal(t, chart.APIVersionV2, made.Metadata.APIVersion)
	}
}

func FuzzPrepare(f *testing.F) {
	f.Add("a.yaml", configMap("a", "one"), "overlays/x/a_patch.yaml", "data: {key: two}")
	f.Add("Chart.yaml", "name: c\nversion: 1.0.0", "templates/a.yaml", "{{")
	f.Add("a.json", `{"kind":"List","apiVersion":"v1","items":[{"kind":"X"}]}`, "overlays/x/a_patch.json", `[{"op":"remove","path":"/x"}]`)
	f.Add("kustomization.yaml", "resources: [a.yaml]\ngenerators: ['a: b\n']", "a.yaml", "apiVersion: builtin\nkind: X\nmetadata: {}")
	f.Fuzz(func(t *testing.T, first, firstText, second, secondText string) {
		in := Input{Name: "app", Files: []content.File{file(first, firstText), file(second, secondText)}}
		in.Options.YAML = &fleet.YAMLOptions{Overlays: []string{"x"}}
		bundle, err := Prepare(in)
		if err != nil || bundle.kustomize != nil {
			return
		}
		objects, err := (&Finish{Bundle: bundle, SetID: "s", Namespace: "apps", Scopes: kinds{}}).Objects(nil)
		if err != nil {
			return
		}
		encoded, err := Encode(objects)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Decode(encoded)
		if err != nil || len(again) != len(objects) {
			t.Fatalf("%d objects, read back as %d: %v\n%s", len(objects), len(again), err, encoded)
		}
	})
}
