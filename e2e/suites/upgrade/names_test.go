package upgrade_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// longestRelease is what Helm takes as the name of a release.
const longestRelease = 53

// D01: whatever a cluster is called, its agent is a bundle that is Ready, of a release of its own.
func TestAgentsOfClustersWithAnyNameAreBundles(t *testing.T) {
	b := theBed(t)
	label, alike := strings.Repeat("l", 63), strings.Repeat("k", 60)
	all := []string{label + "." + label + "." + label + "." + label[:61], alike + "-one", alike + "-two", "a"}
	for _, n := range []int{52, 53, 54, 63, 64} {
		all = append(all, strings.Repeat("n", n))
	}
	all = all[:stage.Reduced(t, "names of clusters:", 3, len(all))]
	var clusters []*cluster
	for _, name := range all {
		clusters = append(clusters, b.byManager(t, name, nil))
	}
	releases := map[string]bool{}
	for _, c := range clusters {
		s := c.joined(t)
		require.Equal(t, "1", s.revision)
		list, err := c.at.Kube.CoreV1().Secrets(c.agents).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
		require.NoError(t, err)
		require.Len(t, list.Items, 1, "one release, of one revision")
		release := list.Items[0].Labels["name"]
		require.LessOrEqual(t, len(release), longestRelease)
		require.False(t, releases[release], "%s is the release of two bundles", release)
		releases[release] = true
		require.LessOrEqual(t, len(names.AgentBundle(c.name)), 63)
	}
	for _, c := range clusters {
		c.leave(t)
	}
}
