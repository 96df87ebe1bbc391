package target

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

type options = fleet.BundleDeploymentOptions

func helm(h fleet.HelmOptions) options { return options{Helm: &h} }

func TestOptionsAreMerged(t *testing.T) {
	yes, no := true, false
	patch := func(name string, pointers ...string) fleet.ComparePatch {
		return fleet.ComparePatch{Kind: "Deployment", Name: name, JsonPointers: pointers}
	}
	for name, test := range map[string]merging{
		"nothing":                 {},
		"a text is kept":          {in("a"), options{}, in("a")},
		"a text is replaced":      {in("a"), in("b"), in("b")},
		"a namespace is reset":    {in("a"), in("-"), options{}},
		"a default is reset":      {options{DefaultNamespace: "a"}, options{DefaultNamespace: "-"}, options{}},
		"an account is reset":     {account("a"), account("-"), options{}},
		"overlays are appended":   {options{GitOpsBundleDeploymentOptions: overlays("a")}, options{GitOpsBundleDeploymentOptions: overlays("b", "a")}, options{GitOpsBundleDeploymentOptions: overlays("a", "b", "a")}},
		"a kustomization":         {kustomize("a"), kustomize("b"), kustomize("b")},
		"an empty kustomization":  {kustomize("a"), kustomize(""), kustomize("a")},
		"a namespace is made":     {options{CreateNamespace: &no}, options{CreateNamespace: &yes}, options{CreateNamespace: &yes}},
		"a namespace is not made": {options{}, options{CreateNamespace: &no}, options{CreateNamespace: &no}},
		"a namespace as it was":   {options{CreateNamespace: &no}, options{}, options{CreateNamespace: &no}},
		"a forced sync":           {options{ForceSyncGeneration: 1}, options{ForceSyncGeneration: 2}, options{ForceSyncGeneration: 2}},
		"no forced sync":          {options{ForceSyncGeneration: 1}, options{}, options{ForceSyncGeneration: 1}},
		"booleans":                {options{KeepResources: true}, options{DeleteNamespace: true, DeleteCRDResources: true}, options{KeepResources: true, DeleteNamespace: true, DeleteCRDResources: true}},
		"a correction":            {options{CorrectDrift: &fleet.CorrectDrift{Enabled: true, Force: true}}, options{CorrectDrift: &fleet.CorrectDrift{}}, options{CorrectDrift: &fleet.CorrectDrift{}}},
		"a correction as it was":  {options{CorrectDrift: &fleet.CorrectDrift{Enabled: true}}, options{}, options{CorrectDrift: &fleet.CorrectDrift{Enabled: true}}},
		"patches by object": {
			options{Diff: &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{patch("a", "/x"), patch("b")}}},
			options{Diff: &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{patch("a", "/y"), patch("c")}}},
			options{Diff: &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{patch("a", "/y"), patch("b"), patch("c")}}},
		},
		"ignored conditions": {
			options{IgnoreOptions: &fleet.IgnoreOptions{Conditions: []map[string]string{{"type": "a"}}}},
			options{IgnoreOptions: &fleet.IgnoreOptions{Conditions: []map[string]string{{"type": "a"}, {"type": "b"}}}},
			options{IgnoreOptions: &fleet.IgnoreOptions{Conditions: []map[string]string{{"type": "a"}, {"type": "b"}}}},
		},
		"copied objects": {
			options{DownstreamResources: []fleet.DownstreamResource{{Kind: "Secret", Name: "a"}, {Kind: "ConfigMap", Name: "a"}}},
			options{DownstreamResources: []fleet.DownstreamResource{{Kind: "secret", Name: "a"}, {Kind: "Secret", Name: "b"}}},
			options{DownstreamResources: []fleet.DownstreamResource{{Kind: "secret", Name: "a"}, {Kind: "ConfigMap", Name: "a"}, {Kind: "Secret", Name: "b"}}},
		},
		"labels": {options{NamespaceLabels: labelled("a", "1", "b", "1")}, options{NamespaceLabels: labelled("b", "2")}, options{NamespaceLabels: labelled("a", "1", "b", "2")}},
	} {
		checkMerge(t, name, test)
	}
}

func TestHelmsOptionsAreMerged(t *testing.T) {
	secret := func(name, key string) fleet.ValuesFrom {
		return fleet.ValuesFrom{SecretKeyRef: &fleet.SecretKeySelector{LocalObjectReference: fleet.LocalObjectReference{Name: name}, Key: key}}
	}
	config := func(name string) fleet.ValuesFrom {
		return fleet.ValuesFrom{ConfigMapKeyRef: &fleet.ConfigMapKeySelector{LocalObjectReference: fleet.LocalObjectReference{Name: name}}}
	}
	for name, test := range map[string]merging{
		"helm where there was none": {options{}, helm(fleet.HelmOptions{Chart: "a"}), helm(fleet.HelmOptions{Chart: "a"})},
		"helm's texts": {
			helm(fleet.HelmOptions{Chart: "a", Repo: "a", Version: "a", ReleaseName: "a"}), helm(fleet.HelmOptions{Version: "b", ReleaseName: "b"}),
			helm(fleet.HelmOptions{Chart: "a", Repo: "a", Version: "b", ReleaseName: "b"}),
		},
		"helm's numbers":       {helm(fleet.HelmOptions{TimeoutSeconds: 1, MaxHistory: 1}), helm(fleet.HelmOptions{TimeoutSeconds: 2, MaxHistory: 2}), helm(fleet.HelmOptions{TimeoutSeconds: 2, MaxHistory: 2})},
		"helm's numbers kept":  {helm(fleet.HelmOptions{TimeoutSeconds: 1, MaxHistory: 1}), helm(fleet.HelmOptions{}), helm(fleet.HelmOptions{TimeoutSeconds: 1, MaxHistory: 1})},
		"helm's numbers reset": {helm(fleet.HelmOptions{TimeoutSeconds: 1, MaxHistory: 1}), helm(fleet.HelmOptions{TimeoutSeconds: -1, MaxHistory: -1}), helm(fleet.HelmOptions{})},
		"helm's booleans": {
			helm(fleet.HelmOptions{Force: true, TakeOwnership: true, WaitForJobs: true, Atomic: true}),
			helm(fleet.HelmOptions{DisablePreProcess: true, DisableDNS: true, SkipSchemaValidation: true, DisableDependencyUpdate: true}),
			helm(fleet.HelmOptions{
				Force: true, TakeOwnership: true, WaitForJobs: true, Atomic: true,
				DisablePreProcess: true, DisableDNS: true, SkipSchemaValidation: true, DisableDependencyUpdate: true,
			}),
		},
		"values":              {withValues(t, "a: {b: 1, c: 1, l: [1]}"), withValues(t, "a: {c: 2, d: {}, l: [2]}"), withValues(t, "a: {b: 1, c: 2, d: {}, l: [2]}")},
		"values, other kinds": {withValues(t, "a: {b: 1}\nc: 1"), withValues(t, "a: 1\nc: {d: 1}"), withValues(t, "a: 1\nc: {d: 1}")},
		"values, null":        {withValues(t, "a: {b: 1}"), withValues(t, "a: {b: null}"), withValues(t, "a: {b: null}")},
		"values, first":       {options{}, withValues(t, "a: 1"), withValues(t, "a: 1")},
		"values, none":        {withValues(t, "a: 1"), helm(fleet.HelmOptions{Values: &fleet.GenericMap{}}), withValues(t, "a: 1")},
		"template values":     {helm(fleet.HelmOptions{TemplateValues: labelled("a", "1", "b", "1")}), helm(fleet.HelmOptions{TemplateValues: labelled("b", "2")}), helm(fleet.HelmOptions{TemplateValues: labelled("a", "1", "b", "2")})},
		"values from objects": {
			helm(fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{secret("a", ""), secret("a", "k"), config("a")}}),
			helm(fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{secret("a", "values.yaml"), secret("b", ""), config("a")}}),
			helm(fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{secret("a", "values.yaml"), secret("a", "k"), config("a"), secret("b", "")}}),
		},
	} {
		checkMerge(t, name, test)
	}
}

type merging struct{ base, custom, want options }

func checkMerge(t *testing.T, name string, test merging) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		base, custom := *test.base.DeepCopy(), *test.custom.DeepCopy()
		assert.Equal(t, test.want, Merge(base, custom))
		assert.Equal(t, test.base, base)
		assert.Equal(t, test.custom, custom)
	})
}

func overlays(names ...string) fleet.GitOpsBundleDeploymentOptions {
	return fleet.GitOpsBundleDeploymentOptions{YAML: &fleet.YAMLOptions{Overlays: names}}
}

func kustomize(dir string) options {
	return options{GitOpsBundleDeploymentOptions: fleet.GitOpsBundleDeploymentOptions{Kustomize: &fleet.KustomizeOptions{Dir: dir}}}
}

func full(t *testing.T) options {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", "options.yaml"))
	require.NoError(t, err)
	var o options
	require.NoError(t, yaml.UnmarshalStrict(document, &o))
	return o
}

// An option that customizations ignore would be a surprise: each that users can write must arrive.
func TestEveryOptionOfATargetArrives(t *testing.T) {
	custom := full(t)
	internal := map[string]bool{"overwrites": true, "allowedTargetNamespaceSelector": true, "valuesFiles": true}
	checkSet(t, reflect.ValueOf(custom), internal)
	assert.Equal(t, custom, Merge(options{}, custom))
	assert.Equal(t, custom, Merge(custom, options{}))
}

// checkSet finds fields that the example does not set, such as those that are added later.
func checkSet(t *testing.T, v reflect.Value, except map[string]bool) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case except[name]:
		case field.Anonymous:
			checkSet(t, v.Field(i), except)
		default:
			assert.False(t, v.Field(i).IsZero(), "testdata/options.yaml does not set %s", name)
			if name == "helm" {
				checkSet(t, v.Field(i).Elem(), except)
			}
		}
	}
}

func TestWhatIsMergedSharesNothing(t *testing.T) {
	base, custom := full(t), full(t)
	got := Merge(base, custom)
	encoded, err := json.Marshal([]options{base, custom})
	require.NoError(t, err)
	scribble(reflect.ValueOf(&got).Elem())
	after, err := json.Marshal([]options{base, custom})
	require.NoError(t, err)
	assert.Equal(t, string(encoded), string(after))
}

// scribble changes everything that can be reached.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scribble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Bool:
		if v.CanSet() {
			v.SetBool(!v.Bool())
		}
	}
}
