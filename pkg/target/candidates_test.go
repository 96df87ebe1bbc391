package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func mapping(namespace string, bundles, namespaces *metav1.LabelSelector) *fleet.BundleNamespaceMapping {
	return &fleet.BundleNamespaceMapping{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "m"},
		BundleSelector: bundles, NamespaceSelector: namespaces,
	}
}

func TestCandidatesAreTheOwnNamespaceAndThoseThatAMappingOpens(t *testing.T) {
	b := bundle()
	b.Labels = labelled("app", "web")
	all := []*corev1.Namespace{namespace("team-a", "team", "a"), namespace("team-b", "team", "b"), namespace(workspace), namespace("plain")}
	for name, test := range map[string]struct {
		mappings []*fleet.BundleNamespaceMapping
		want     []string
	}{
		"no mapping":               {nil, []string{workspace}},
		"both match":               {[]*fleet.BundleNamespaceMapping{mapping(workspace, selecting("app", "web"), selecting("team", "a"))}, []string{workspace, "team-a"}},
		"another bundle":           {[]*fleet.BundleNamespaceMapping{mapping(workspace, selecting("app", "db"), selecting("team", "a"))}, []string{workspace}},
		"of another namespace":     {[]*fleet.BundleNamespaceMapping{mapping("team-a", selecting("app", "web"), selecting("team", "a"))}, []string{workspace}},
		"no bundle selector":       {[]*fleet.BundleNamespaceMapping{mapping(workspace, nil, selecting("team", "a"))}, []string{workspace}},
		"no namespace selector":    {[]*fleet.BundleNamespaceMapping{mapping(workspace, selecting("app", "web"), nil)}, []string{workspace}},
		"empty selectors mean all": {[]*fleet.BundleNamespaceMapping{mapping(workspace, selecting(), selecting())}, []string{workspace, "plain", "team-a", "team-b"}},
		"several mappings, each namespace once": {[]*fleet.BundleNamespaceMapping{
			mapping(workspace, selecting("app", "web"), selecting("team", "b")), mapping(workspace, selecting(), selecting("team", "b")),
			mapping(workspace, selecting(), selecting("team", "a")),
		}, []string{workspace, "team-a", "team-b"}},
		"a broken one is left out": {[]*fleet.BundleNamespaceMapping{
			mapping(workspace, broken(), selecting("team", "a")), mapping(workspace, selecting(), broken()),
			mapping(workspace, selecting(), selecting("team", "b")),
		}, []string{workspace, "team-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Candidates(b, test.mappings, all))
		})
	}
	assert.True(t, Opens(mapping(workspace, selecting(), selecting("team", "a")), b, all[0]))
	assert.False(t, Opens(mapping(workspace, selecting(), selecting("team", "a")), b, all[1]))
}

func TestABrokenMappingIsNamed(t *testing.T) {
	require.NoError(t, MappingsProblem(bundle(), []*fleet.BundleNamespaceMapping{
		mapping(workspace, selecting(), selecting()), mapping(workspace, nil, nil), mapping("other", broken(), broken()),
	}))
	err := MappingsProblem(bundle(), []*fleet.BundleNamespaceMapping{mapping(workspace, selecting(), broken())})
	require.ErrorContains(t, err, `BundleNamespaceMapping fleet-default/m: namespaceSelector: "Near\x1b" is not a valid label selector operator`)
	require.NotContains(t, err.Error(), "\x1b")
}
