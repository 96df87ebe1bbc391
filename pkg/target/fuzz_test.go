package target

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// checkRefusal holds for what is said of a cluster in a status.
func checkRefusal(t *testing.T, r Refusal) {
	t.Helper()
	require.Less(t, len(r.Error()), 1024)
	require.Less(t, strings.IndexFunc(r.Error(), func(c rune) bool { return !unicode.IsPrint(c) }), 0, "%q", r.Error())
	require.NotEmpty(t, r.Field)
}

// FuzzValues: whatever stands in a bundle's values and in a cluster, each cluster gets values or a reason, always the same
// one.
func FuzzValues(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"a":1}`, `{}`, ""}, {`{"a":"${ .ClusterValues.x }"}`, `{"x":[1,{"y":null}]}`, "${ .ClusterName }"},
		{`{"a":"global.fleet.clusterLabels.env"}`, `{"x":1}`, "[${ keys .ClusterLabels | join \",\" }]"},
		{`{"${ .ClusterName }":{"b":["${ toJson . }"]}}`, `{"x":"\u0000"}`, "a: &a [*a]"}, {`null`, `null`, "${"}, {`[]`, `[]`, "---"},
		{`{"a":"b: ${ indent 4 \"x\" }","n":1e400}`, `{"x":"${ x }"}`, "!!binary x"}, {`{"":{"":""}}`, `{"":""}`, "<<: {a: 1}"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), seed[2])
	}
	f.Fuzz(func(t *testing.T, given, ofCluster []byte, template string) {
		if len(given)+len(ofCluster)+len(template) > 4096 {
			return
		}
		var own, clusters fleet.GenericMap
		if json.Unmarshal(given, &own) != nil || json.Unmarshal(ofCluster, &clusters) != nil {
			return
		}
		c := cluster("edge", "env", "prod")
		c.Spec.TemplateValues = &clusters
		b := bundle(everyone())
		b.Spec.Helm = &fleet.HelmOptions{Values: &own}
		if template != "" {
			b.Spec.Helm.TemplateValues = labelled("made", template)
		}
		facts := Facts{Bundle: b, Clusters: []*fleet.Cluster{c, cluster("plain", "env", "x")}}
		targets, refusals := find(t, facts)
		require.Equal(t, 2, len(targets)+len(refusals))
		again, refused := find(t, facts)
		require.Equal(t, targets, again)
		require.Equal(t, refusals, refused)
		for _, refusal := range refusals {
			checkRefusal(t, refusal)
		}
	})
}

// FuzzSelectors: whatever stands in selectors, targets and explanations agree, and what is not certain is not removed.
func FuzzSelectors(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"matchLabels":{"env":"prod"}}`, `{"matchLabels":{"env":"prod\u001b","a/b/c":""}}`,
		`{"matchExpressions":[{"key":"env","operator":"In","values":["prod"]}]}`, `{"matchExpressions":[{"key":"env","operator":"In"}]}`,
		`{"matchExpressions":[{"key":"","operator":"Exists"},{"key":"x","operator":"DoesNotExist"}]}`,
		`{"matchExpressions":[{"key":"env","operator":"NotIn","values":["\u0000"]}]}`,
	} {
		f.Add([]byte(seed), []byte(`{"matchLabels":{"env":"prod"}}`), "edge", byte(0))
		f.Add([]byte(`{}`), []byte(seed), "", byte(7))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, name string, shape byte) {
		var a, b *metav1.LabelSelector
		if len(first)+len(second) > 4096 || json.Unmarshal(first, &a) != nil || json.Unmarshal(second, &b) != nil {
			return
		}
		of := bundle(
			fleet.BundleTarget{ClusterSelector: a, ClusterName: name, DoNotDeploy: shape&1 != 0},
			fleet.BundleTarget{ClusterGroupSelector: b}, fleet.BundleTarget{ClusterGroup: name, ClusterSelector: b},
		)
		if shape&2 != 0 {
			of = restrictedTo(of, a, b)
		}
		facts := Facts{Bundle: of, Clusters: three(), Groups: []*fleet.ClusterGroup{groupOf("g", a, "env", "prod"), groupOf(name, b)}}
		targets, refusals := find(t, facts)
		in := map[string]bool{}
		for _, target := range targets {
			in[target.Cluster.Name] = true
		}
		for _, refusal := range refusals {
			checkRefusal(t, refusal)
			require.False(t, in[refusal.Cluster.Name])
		}
		var existing []*fleet.BundleDeployment
		for _, c := range facts.Clusters {
			e := Explain(facts, c)
			require.NotEmpty(t, e.Reason)
			require.Equal(t, in[c.Name], e.Targeted && e.Refusal == nil)
			existing = append(existing, deployed(c))
		}
		verdict := Unwanted(facts, targets, refusals, existing, nil)
		require.Len(t, verdict.Keep, len(refusals))
		require.Len(t, verdict.Remove, len(existing)-len(refusals)-len(targets))
	})
}
