package target

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestNamespaceLabelsAreThoseOfTheMatchingEntryAlone(t *testing.T) {
	wide, narrow := to("wide", selecting("env", "prod"), in("")), to("narrow", selecting("name", "one"), in(""))
	wide.NamespaceLabels, narrow.NamespaceLabels = labelled("wide", "1", "both", "wide"), labelled("narrow", "1", "both", "narrow")
	narrow.NamespaceAnnotations = labelled("note", "1")
	base := func(b *fleet.Bundle) *fleet.Bundle {
		b.Spec.NamespaceLabels = labelled("base", "1", "both", "base")
		return b
	}
	for name, test := range map[string]struct {
		bundle *fleet.Bundle
		want   map[string]map[string]string
	}{
		"the first target": {bundle(narrow, wide, everyone()), map[string]map[string]string{
			"one": labelled("base", "1", "narrow", "1", "both", "narrow"), "two": labelled("base", "1", "wide", "1", "both", "wide"),
			"three": labelled("base", "1", "both", "base")}},
		"all customizations": {allMatches(restrictedTo(bundle(wide, narrow), selecting())), map[string]map[string]string{
			"one": labelled("base", "1", "wide", "1", "narrow", "1", "both", "narrow"), "two": labelled("base", "1", "wide", "1", "both", "wide"),
			"three": labelled("base", "1", "both", "base")}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, _ := find(t, Facts{Bundle: base(test.bundle), Clusters: three()})
			for _, target := range targets {
				assert.Equal(t, test.want[target.Cluster.Name], target.NamespaceLabels)
				assert.Equal(t, target.NamespaceLabels, target.Options.NamespaceLabels)
				assert.Equal(t, target.Cluster.Name == "one", target.NamespaceAnnotations["note"] == "1")
			}
		})
	}
}

func TestNamespacesAreAllowedForBundlesFromARepository(t *testing.T) {
	restriction := func(name string, selector *metav1.LabelSelector) *fleet.GitRepoRestriction {
		return &fleet.GitRepoRestriction{ObjectMeta: metav1.ObjectMeta{Name: name}, AllowedTargetNamespaceSelector: selector}
	}
	expression := metav1.LabelSelectorRequirement{Key: "x", Operator: metav1.LabelSelectorOpExists}
	facts := Facts{Bundle: bundle(everyone()), Clusters: []*fleet.Cluster{cluster("one")}, Restrictions: []*fleet.GitRepoRestriction{
		restriction("b", &metav1.LabelSelector{MatchLabels: labelled("team", "b"), MatchExpressions: []metav1.LabelSelectorRequirement{expression}}),
		restriction("c", nil), restriction("a", selecting("team", "a", "only", "a")),
	}}
	assert.Nil(t, one(t, facts).Options.AllowedTargetNamespaceSelector)
	facts.Bundle.Labels = labelled(fleet.RepoLabel, "repo")
	assert.Equal(t, &metav1.LabelSelector{
		MatchLabels: labelled("team", "b", "only", "a"), MatchExpressions: []metav1.LabelSelectorRequirement{expression},
	}, one(t, facts).Options.AllowedTargetNamespaceSelector)
	facts.Restrictions = facts.Restrictions[1:2]
	assert.Nil(t, one(t, facts).Options.AllowedTargetNamespaceSelector)
}

// Others take the values out of the options, target by target.
func TestAFieldOfATargetsHelmOptionsCanBeReplaced(t *testing.T) {
	b := bundle(everyone())
	b.Spec.Helm = withValues(t, "a: 1").Helm
	targets, _ := find(t, Facts{Bundle: b, Clusters: three()})
	targets[0].Options.Helm.Values = nil
	targets[0].Options.Helm.Chart = "other"
	assert.Equal(t, values(t, "a: 1"), targets[1].Options.Helm.Values)
	assert.Empty(t, targets[1].Options.Helm.Chart)
	assert.Equal(t, values(t, "a: 1"), b.Spec.Helm.Values)
}

func TestRefusalsCanBeToldApart(t *testing.T) {
	b := bundle(everyone())
	b.Spec.ValuesHash = "0"
	_, refusals := find(t, Facts{Bundle: b, Clusters: three()})
	assert.True(t, errors.Is(refusals[0], ErrValuesMissing))
	assert.True(t, errors.Is(Problem(Facts{Bundle: b}), ErrValuesMissing))
}

// BenchmarkFind is one pass over a thousand clusters.
func BenchmarkFind(b *testing.B) {
	for name, document := range map[string]string{"shared": "a: {b: [1, 2, 3]}", "templates": "a: ${ .ClusterName }\nb: {c: [1, 2, 3]}"} {
		b.Run(name, func(b *testing.B) {
			read, err := readValues([]byte(document))
			if err != nil {
				b.Fatal(err)
			}
			of := bundle(to("x", selecting("env", "dev"), in("")), everyone())
			of.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: read}}
			facts := Facts{Bundle: of}
			for i := range 1000 {
				facts.Clusters = append(facts.Clusters, cluster(fmt.Sprint("c", i), "env", "prod", "a", "b", "c", "d"))
			}
			b.ReportAllocs()
			for b.Loop() {
				if targets, _ := Find(facts, "s-1"); len(targets) != 1000 {
					b.Fatal(len(targets))
				}
			}
		})
	}
}
