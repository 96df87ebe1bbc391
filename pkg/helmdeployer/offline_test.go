package helmdeployer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
)

// B19: a chart is rendered for the version that is asked for.
func TestBundlesAreRenderedWithoutACluster(t *testing.T) {
	job := Job{Name: "app", Options: fleet.BundleDeploymentOptions{TargetNamespace: appNamespace}}
	job.Files = []content.File{
		file("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\nkubeVersion: '>=1.30.0'\n"),
		file("crds/w.yaml", definition),
		file("templates/w.yaml", widget),
		file("templates/a.yaml", configMap("a", `"{{ .Capabilities.KubeVersion.Version }} {{ .Values.who }} {{ .Capabilities.APIVersions.Has "x/v1" }}"`)),
		file("templates/h.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: h\n  annotations: {helm.sh/hook: pre-install}\n"),
	}
	job.Options.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"who": "me"}}}
	objects, err := Render(t.Context(), RenderInput{Job: job, KubeVersion: "v1.31.2", APIVersions: []string{"x/v1"}})
	require.NoError(t, err)
	var found []string
	for _, object := range objects {
		found = append(found, object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName())
	}
	assert.Equal(t, []string{"CustomResourceDefinition /widgets.example.com", "ConfigMap apps/a", "Widget apps/w", "ConfigMap /h"}, found)
	assert.Equal(t, map[string]any{"key": "v1.31.2 me true"}, objects[1].Object["data"])
	assert.Equal(t, "default-app", objects[1].GetAnnotations()["objectset.rio.cattle.io/id"])

	_, err = Render(t.Context(), RenderInput{Job: job, KubeVersion: "1.29.0"})
	require.ErrorContains(t, err, "chart requires kubeVersion: >=1.30.0 which is incompatible with Kubernetes v1.29.0")
	assert.True(t, IsFinal(err))
}

func TestValuesAreMergedInOrder(t *testing.T) {
	under := map[string]any{"a": map[string]any{"b": 1, "c": 2}, "l": []any{1}, "x": 1}
	got := mergeValues(under, map[string]any{"a": map[string]any{"c": 3, "d": nil}, "l": []any{2}, "x": map[string]any{"y": 1}})
	assert.Equal(t, map[string]any{"a": map[string]any{"b": 1, "c": 3, "d": nil}, "l": []any{2}, "x": map[string]any{"y": 1}}, got)
	assert.Equal(t, 2, under["a"].(map[string]any)["c"], "what is given stays as it is")
}

func TestLoadedReleasesAreBounded(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	got, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	one := d.loaded.size
	require.Positive(t, one)
	small := newLoaded(2*one + one/2)
	for _, id := range []string{"a/a:1", "a/a:2", "a/a:3"} {
		small.put(id, got.Objects)
	}
	_, ok := small.get("a/a:1")
	assert.False(t, ok)
	objects, ok := small.get("a/a:3")
	require.True(t, ok)
	assert.Equal(t, got.Objects, objects)
	objects[0].SetName("changed")
	again, _ := small.get("a/a:3")
	assert.Equal(t, "a", again[0].GetName(), "the objects are the caller's own")
}
