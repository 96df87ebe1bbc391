package target

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var update = flag.Bool("update", false, "write testdata anew instead of comparing with it")

const workspace = "fleet-default"

// labelled is a short form of labels: "env", "prod", …
func labelled(pairs ...string) map[string]string {
	labels := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

func selecting(pairs ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labelled(pairs...)}
}

// broken is a selector that cannot be read.
func broken() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Near\x1b"}}}
}

func clusterIn(namespace, name string, pairs ...string) *fleet.Cluster {
	return &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labelled(pairs...), UID: "uid-of-" + "x"},
		Status:     fleet.ClusterStatus{Namespace: "cluster-" + namespace + "-" + name},
	}
}

func cluster(name string, pairs ...string) *fleet.Cluster {
	return clusterIn(workspace, name, pairs...)
}

func groupOf(name string, selector *metav1.LabelSelector, pairs ...string) *fleet.ClusterGroup {
	return &fleet.ClusterGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, Labels: labelled(pairs...)},
		Spec:       fleet.ClusterGroupSpec{Selector: selector},
	}
}

func bundle(targets ...fleet.BundleTarget) *fleet.Bundle {
	return &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "app"},
		Spec:       fleet.BundleSpec{Targets: targets},
	}
}

func everyone() fleet.BundleTarget {
	return fleet.BundleTarget{Name: "everyone", ClusterSelector: &metav1.LabelSelector{}}
}

// restrictedTo adds restrictions, one for each selector, and as many targets at the end.
func restrictedTo(b *fleet.Bundle, selectors ...*metav1.LabelSelector) *fleet.Bundle {
	for i, s := range selectors {
		name := string(rune('a' + i))
		b.Spec.TargetRestrictions = append(b.Spec.TargetRestrictions, fleet.BundleTargetRestriction{Name: name, ClusterSelector: s})
		b.Spec.Targets = append(b.Spec.Targets, fleet.BundleTarget{Name: name, ClusterSelector: s})
	}
	return b
}

func namesOf(targets []Target) []string {
	names := []string{}
	for _, t := range targets {
		names = append(names, t.Cluster.Name)
	}
	return names
}

func values(t *testing.T, document string) *fleet.GenericMap {
	t.Helper()
	read, err := readValues([]byte(document))
	require.NoError(t, err)
	return &fleet.GenericMap{Data: read}
}

func withValues(t *testing.T, document string) fleet.BundleDeploymentOptions {
	t.Helper()
	return fleet.BundleDeploymentOptions{Helm: &fleet.HelmOptions{Values: values(t, document)}}
}

// find checks what holds for every result, and that the facts are as before.
func find(t *testing.T, facts Facts) ([]Target, []Refusal) {
	t.Helper()
	before, err := json.Marshal(facts)
	require.NoError(t, err)
	targets, refusals := Find(facts, "s-content")
	after, err := json.Marshal(facts)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "facts are never changed")
	for _, target := range targets {
		id, err := DeploymentID("s-content", target.Options)
		require.NoError(t, err)
		require.Equal(t, id, target.DeploymentID)
		require.NotNil(t, target.NamespaceLabels)
		require.NotNil(t, target.NamespaceAnnotations)
	}
	for _, refusal := range refusals {
		require.NotEmpty(t, refusal.Field)
		require.Error(t, refusal.Err)
	}
	return targets, refusals
}

// one is the only target, or nil.
func one(t *testing.T, facts Facts) *Target {
	t.Helper()
	targets, refusals := find(t, facts)
	require.Empty(t, refusals)
	require.LessOrEqual(t, len(targets), 1)
	if len(targets) == 0 {
		return nil
	}
	return &targets[0]
}

func namespace(name string, pairs ...string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(pairs...)}}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}
