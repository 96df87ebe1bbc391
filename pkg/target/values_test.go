package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func edge() *fleet.Cluster {
	c := cluster("edge", "env", "prod", "zone", "a", "management.cattle.io/cluster-name", "c-1", "kubectl.kubernetes.io/x", "y",
		"objectset.rio.cattle.io/hash", "z")
	c.Annotations = labelled("owner", "team: a")
	c.Spec.TemplateValues = &fleet.GenericMap{Data: map[string]any{"replicas": int64(3), "hosts": []any{"h1", "h2"}}}
	return c
}

// rendered are the values that the cluster gets, or the error.
func rendered(t *testing.T, options fleet.BundleDeploymentOptions, c *fleet.Cluster) (map[string]any, error) {
	t.Helper()
	b := bundle(everyone())
	b.Spec.BundleDeploymentOptions = options
	targets, refusals := find(t, Facts{Bundle: b, Clusters: []*fleet.Cluster{c}})
	if len(refusals) > 0 {
		return nil, refusals[0]
	}
	require.Len(t, targets, 1)
	if targets[0].Options.Helm.Values == nil {
		return nil, nil
	}
	return targets[0].Options.Helm.Values.Data, nil
}

func TestValuesAreMadeForTheCluster(t *testing.T) {
	for name, test := range map[string]struct{ given, want string }{
		"plain":                        {"a: 1\nb: [x, {c: null}]\nbig: 9007199254740993", "a: 1\nb: [x, {c: null}]\nbig: 9007199254740993"},
		"a reference":                  {"a: global.fleet.clusterLabels.env", "a: prod"},
		"a reference to the manager's": {"a: global.fleet.clusterLabels.management.cattle.io/cluster-name", "a: c-1"},
		"a reference to a tool's":      {"a: global.fleet.clusterLabels.kubectl.kubernetes.io/x", `a: ""`},
		"a reference to the engine's":  {"a: global.fleet.clusterLabels.objectset.rio.cattle.io/hash", `a: ""`},
		"a reference to an absent":     {"a: global.fleet.clusterLabels.none", `a: ""`},
		"a reference below":            {"a: {b: [{c: global.fleet.clusterLabels.zone}]}", "a: {b: [{c: a}]}"},
		"no reference in the middle":   {"a: x global.fleet.clusterLabels.zone", "a: x global.fleet.clusterLabels.zone"},
		"a template":                   {"a: ${ .ClusterLabels.env }", "a: prod"},
		"names":                        {"a: ${ .ClusterNamespace }/${ .ClusterName }", "a: fleet-default/edge"},
		"an annotation":                {"a: ${ .ClusterAnnotations.owner | quote }", "a: 'team: a'"},
		"values of the cluster":        {"a: ${ .ClusterValues.replicas }\nb: ${ toJson .ClusterValues.hosts }", "a: 3\nb: [h1, h2]"},
		"a template in a name":         {"${ .ClusterName }: 1", "edge: 1"},
		"both":                         {"a: ${ .ClusterName }\nb: global.fleet.clusterLabels.env", "a: edge\nb: prod"},
		"a choice":                     {"a: ${ if eq .ClusterLabels.env \"prod\" }big${ else }small${ end }", "a: big"},
		"a chart's template":           {"a: '{{ .Release.Name }}'", "a: '{{ .Release.Name }}'"},
		"a default":                    {"a: ${ get .ClusterLabels \"none\" | default \"d\" }", "a: d"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rendered(t, withValues(t, test.given), edge())
			require.NoError(t, err)
			assert.Equal(t, values(t, test.want).Data, got)
		})
	}
}

func TestValuesThatCannotBeMadeSayWhy(t *testing.T) {
	for given, want := range map[string]string{
		"a: ${ .ClusterLabels.none }":      `at <.ClusterLabels.none>: map has no entry for key "none"`,
		"a: $${VAR}":                       `function "VAR" not defined; if ${…} is not for Fleet to fill in, set helm.disablePreProcess`,
		"a: ${ range 1000000000 }${ end }": "more work than one cluster may cause",
		"a: ${ now }":                      "the function now cannot be used in values",
		"a: ${ print \"[\" }":              "what the template gives: reading YAML",
		"${ fail \"not here\" }: x":        "not here",
		"b: ${ $x := list 1 }${ range 100 }${ $x = list $x }${ end }${ toJson $x }": "nested more than 100 deep",
	} {
		_, err := rendered(t, withValues(t, given), edge())
		require.ErrorContains(t, err, want, given)
		require.ErrorContains(t, err, "cluster fleet-default/edge: spec.helm.values: ")
		assert.Less(t, len(err.Error()), 500)
	}
}

func TestTemplatesAreLeftAloneWhereTheOptionSaysSo(t *testing.T) {
	options := withValues(t, "a: ${ VAR }\nb: global.fleet.clusterLabels.env")
	options.Helm.DisablePreProcess = true
	options.Helm.TemplateValues = map[string]string{"c": "${ .ClusterName }"}
	got, err := rendered(t, options, edge())
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": "${ VAR }", "b": "prod"}, got)
}

func TestTemplateValuesReplaceValues(t *testing.T) {
	options := withValues(t, "a: 1\nb: {c: 2}\nd: ${ .ClusterName }")
	options.Helm.TemplateValues = map[string]string{
		"b": "${ toJson .ClusterValues.hosts }", "e": "- ${ .ClusterLabels.zone }\n- 2", "f": "", "g": "plain",
	}
	got, err := rendered(t, options, edge())
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"a": int64(1), "b": []any{"h1", "h2"}, "d": "edge", "e": []any{"a", int64(2)}, "f": nil, "g": "plain",
	}, got)

	options.Helm.Values = nil
	got, err = rendered(t, options, edge())
	require.NoError(t, err)
	assert.Equal(t, []any{"h1", "h2"}, got["b"])

	options.Helm.TemplateValues["bad"] = "${ .ClusterLabels.none }"
	_, err = rendered(t, options, edge())
	require.ErrorContains(t, err, "spec.helm.templateValues[bad]: ")
}

// B18: a cluster that has lost its labels, or a template that gives nothing, must not turn into the chart's defaults.
func TestNoBlanksAreRendered(t *testing.T) {
	bare := cluster("bare")
	_, err := rendered(t, withValues(t, "a: global.fleet.clusterLabels.env"), bare)
	require.ErrorContains(t, err, "the values refer to labels of the cluster, and it has none at all")
	_, err = rendered(t, withValues(t, "a: ${ .ClusterLabels.env }"), bare)
	require.ErrorContains(t, err, `no entry for key "env"`)

	for _, nothing := range []string{"${/* nothing */}", "${ if false }a: 1${ end }"} {
		b := compile(Facts{Bundle: bundle()})
		_, err := b.fillIn(nothing, templateData(bare, nil))
		require.EqualError(t, err, "the template gives no values at all for this cluster")
	}
	_, err = compile(Facts{Bundle: bundle()}).fillIn("${ list 1 2 | toJson }", templateData(bare, nil))
	require.EqualError(t, err, "what the template gives: values must be a mapping, and this is a list")

	got, err := rendered(t, withValues(t, "a: ${ .ClusterName }"), bare)
	require.NoError(t, err)
	assert.Equal(t, "bare", got["a"], "a cluster without labels has a name")
}

// One text for all clusters is one version; what a cluster is called in it makes a version of its own.
func TestClustersWithTheSameValuesHaveTheSameVersion(t *testing.T) {
	ids := func(document string) map[string]bool {
		b := bundle(everyone())
		b.Spec.BundleDeploymentOptions = withValues(t, document)
		targets, refusals := find(t, Facts{Bundle: b, Clusters: three()})
		require.Empty(t, refusals)
		found := map[string]bool{}
		for _, target := range targets {
			found[target.DeploymentID] = true
		}
		return found
	}
	assert.Len(t, ids("a: 1"), 1)
	assert.Len(t, ids("a: ${ .ClusterLabels.env }"), 2)
	assert.Len(t, ids("a: global.fleet.clusterLabels.env"), 2)
	assert.Len(t, ids("a: ${ .ClusterName }"), 3)
	assert.Equal(t, ids("a: 1"), ids("a: ${ 1 }"))
}

func secretOf(b *fleet.Bundle, data map[string]string) map[string][]byte {
	secret := map[string][]byte{}
	for key, document := range data {
		secret[key] = []byte(document)
	}
	b.Spec.ValuesHash, _ = ValuesHash(secret)
	return secret
}

func TestValuesComeFromTheirSecret(t *testing.T) {
	b := restrictedTo(bundle(to("narrow", selecting("name", "one"), fleet.BundleDeploymentOptions{})), selecting())
	b.Spec.Helm = &fleet.HelmOptions{Chart: "web"}
	facts := Facts{Bundle: b, Clusters: three(), Values: secretOf(b, map[string]string{
		"values.yaml": "a: 1\nb: {c: 2}", "narrow": "b: {d: '${ .ClusterName }'}", "unknown": "[", "target001": "x: 1",
	})}
	targets, refusals := find(t, facts)
	require.Empty(t, refusals)
	got := map[string]any{}
	for _, target := range targets {
		got[target.Cluster.Name] = target.Options.Helm.Values.Data
		assert.Equal(t, "web", target.Options.Helm.Chart)
	}
	plain := values(t, "a: 1\nb: {c: 2}").Data
	assert.Equal(t, map[string]any{"one": values(t, "a: 1\nb: {c: 2, d: one}").Data, "two": plain, "three": plain}, got)
}

func TestTheHashOfValuesIsThatOfTheSecretsData(t *testing.T) {
	// printf '{"a":"eA==","values.yaml":""}' | sha256sum
	got, err := ValuesHash(map[string][]byte{"values.yaml": {}, "a": []byte("x")})
	require.NoError(t, err)
	assert.Equal(t, "9f6000bf8e291fd6dc1854ca9d1ae217cc4fbb7e8db21eff6c018c08bd5de45d", got)
}

// B07: without its values a bundle is not deployed with others.
func TestMissingValuesAreAwaited(t *testing.T) {
	b := bundle(everyone())
	data := secretOf(b, map[string]string{"values.yaml": "password: SECRET"})
	facts := Facts{Bundle: b, Clusters: three(), Values: data}
	targets, refusals := find(t, facts)
	assert.Len(t, targets, 3)
	assert.Empty(t, refusals)
	for name, other := range map[string]map[string][]byte{
		"no secret": nil, "no data": {}, "other data": {"values.yaml": []byte("password: OTHER")},
	} {
		facts.Values = other
		targets, refusals := find(t, facts)
		assert.Empty(t, targets, name)
		require.Len(t, refusals, 3, name)
		assert.ErrorIs(t, refusals[0], ErrValuesMissing)
	}
	for _, wrong := range []string{"[1]", "x", "- SECRET: [", "a: b: SECRET", "{SECRET"} {
		facts.Values = secretOf(b, map[string]string{"values.yaml": wrong})
		_, refusals := find(t, facts)
		require.Len(t, refusals, 3, wrong)
		assert.Equal(t, "key values.yaml of the values Secret", refusals[0].Field)
		assert.NotContains(t, refusals[0].Error(), "SECRET")
	}
	facts.Values = secretOf(b, map[string]string{"values.yaml": ""})
	targets, _ = find(t, facts)
	require.Len(t, targets, 3)
	assert.Nil(t, targets[0].Options.Helm.Values)
}

func TestYAMLThatGrowsIsRefused(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefghi" {
		before := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+before+",", 9), ",") + "]\n"
	}
	_, err := readYAML([]byte(bomb))
	require.Error(t, err)
	_, err = readYAML([]byte(strings.Repeat("[", 100_000)))
	require.Error(t, err)
	_, err = readYAML([]byte(strings.Repeat("[", 500) + strings.Repeat("]", 500)))
	require.ErrorContains(t, err, "nested more than 100 deep")
}
