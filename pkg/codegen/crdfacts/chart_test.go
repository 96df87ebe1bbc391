package crdfacts

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const chart = "../../../charts/fleet-crd"

// definition is the part of a CustomResourceDefinition that is looked at.
type definition struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			ListKind   string   `json:"listKind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
			Schema  struct {
				OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
			} `json:"schema"`
			Subresources map[string]any `json:"subresources"`
			Columns      []struct {
				Name     string `json:"name"`
				Type     string `json:"type"`
				JSONPath string `json:"jsonPath"`
			} `json:"additionalPrinterColumns"`
		} `json:"versions"`
	} `json:"spec"`
}

// definitions reads the chart, by kind.
func definitions(t *testing.T) map[string]definition {
	t.Helper()
	files, err := filepath.Glob(chart + "/templates/*")
	require.NoError(t, err)
	byKind := map[string]definition{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd definition
		require.NoError(t, yaml.UnmarshalStrict(source, &crd), file)
		assert.Equal(t, crd.Spec.Names.Plural+".yaml", filepath.Base(file), "one file a kind, named after it")
		require.Len(t, crd.Spec.Versions, 1, file)
		byKind[crd.Spec.Names.Kind] = crd
	}
	return byKind
}

// Helm passes the manifests through and kubectl takes them as they are: neither sees a template.
func TestTheChartHasPlainManifests(t *testing.T) {
	files, err := filepath.Glob(chart + "/templates/*")
	require.NoError(t, err)
	require.Len(t, files, 14)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Falsef(t, bytes.Contains(source, []byte("{{")), "%s holds a template", file)
		// kubectl apply repeats the object in an annotation, and annotations have a limit.
		assert.Lessf(t, len(source), 256<<10, "%s is too large for kubectl apply", file)
	}
}

func TestSchemasHaveExactlyTheKnownFields(t *testing.T) {
	facts, err := All()
	require.NoError(t, err)
	crds := definitions(t)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(facts)), slices.Collect(maps.Keys(crds)))
	for kind, crd := range crds {
		t.Run(kind, func(t *testing.T) {
			var want []string
			for _, fact := range facts[kind] {
				fact.Flags = slices.DeleteFunc(slices.Clone(fact.Flags), func(flag string) bool { return flag == "external" })
				want = append(want, fact.String())
			}
			external := func(path string) bool {
				at := slices.IndexFunc(facts[kind], func(fact Fact) bool { return fact.Path == path })
				return at >= 0 && facts[kind][at].External()
			}
			got := flatten(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, external)
			assert.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
		})
	}
}

// Programs that write HelmOps compare what they read back with what they wrote.
func TestHelmOpSpecHasNoDefaults(t *testing.T) {
	schema := definitions(t)["HelmOp"].Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
	text, err := yaml.Marshal(spec)
	require.NoError(t, err)
	assert.NotEmpty(t, spec["properties"])
	assert.NotRegexp(t, `(?m)^\s*default:`, string(text))
}

func TestKindsAreServedAsOtherProgramsExpect(t *testing.T) {
	withoutStatus := []string{"BundleNamespaceMapping", "GitRepoRestriction", "Policy"}
	inCategory := []string{"ClusterGroup", "GitRepo", "HelmOp"}
	for kind, crd := range definitions(t) {
		t.Run(kind, func(t *testing.T) {
			version := crd.Spec.Versions[0]
			assert.Equal(t, "apiextensions.k8s.io/v1 CustomResourceDefinition", crd.APIVersion+" "+crd.Kind)
			assert.Equal(t, map[string]any{"name": crd.Spec.Names.Plural + ".fleet.cattle.io"}, crd.Metadata)
			assert.Equal(t, "fleet.cattle.io", crd.Spec.Group)
			assert.Equal(t, kind+"List", crd.Spec.Names.ListKind)
			assert.Equal(t, strings.ToLower(kind), crd.Spec.Names.Singular)
			assert.Equal(t, "v1alpha1 true true", fmt.Sprint(version.Name, " ", version.Served, " ", version.Storage))
			assert.Equal(t, map[bool]string{true: "Cluster", false: "Namespaced"}[kind == "Content"], crd.Spec.Scope)
			assert.Equal(t, slices.Contains(inCategory, kind), slices.Equal(crd.Spec.Names.Categories, []string{"fleet"}))
			_, hasStatus := version.Subresources["status"]
			assert.Equal(t, !slices.Contains(withoutStatus, kind), hasStatus)
		})
	}
}

func TestPrinterColumns(t *testing.T) {
	const status = `Status=.status.conditions[?(@.type=="Ready")].message`
	want := map[string][]string{
		"Bundle":                   {"BundleDeployments-Ready=.status.display.readyClusters", status},
		"BundleDeployment":         {"Deployed=.status.display.deployed", "Monitored=.status.display.monitored", status},
		"Cluster":                  {"Bundles-Ready=.status.display.readyBundles", "Last-Seen=.status.agent.lastSeen", status},
		"ClusterGroup":             {"Clusters-Ready=.status.display.readyClusters", "Bundles-Ready=.status.display.readyBundles", status},
		"ClusterRegistration":      {"Cluster-Name=.status.clusterName", "Labels=.spec.clusterLabels"},
		"ClusterRegistrationToken": {"Secret-Name=.status.secretName"},
		"GitRepo":                  {"Repo=.spec.repo", "Commit=.status.commit", "BundleDeployments-Ready=.status.display.readyBundleDeployments", status},
		"HelmOp":                   {"Repo=.spec.helm.repo", "Chart=.spec.helm.chart", "Version=.status.version", "BundleDeployments-Ready=.status.display.readyBundleDeployments", status},
		"GitRepoRestriction":       {"Default-ServiceAccount=.defaultServiceAccount", "Allowed-ServiceAccounts=.allowedServiceAccounts"},
		"ImageScan":                {"Repository=.spec.image", "Latest=.status.latestTag"},
		"Schedule":                 {"Schedule=.spec.schedule", "Duration=.spec.duration", "Active=.status.active", "NextStart=.status.nextStartTime"},
		"BundleNamespaceMapping":   nil,
		"Content":                  nil,
		"Policy":                   nil,
	}
	got := map[string][]string{}
	for kind, crd := range definitions(t) {
		got[kind] = nil
		for _, column := range crd.Spec.Versions[0].Columns {
			got[kind] = append(got[kind], column.Name+"="+column.JSONPath)
		}
	}
	assert.Equal(t, want, got)
}
