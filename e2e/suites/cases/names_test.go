package cases

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// D01, D02: whatever a cluster is called, its token exists, its agent is deployed and it registers.
func TestClustersWithLongNamesJoin(t *testing.T) {
	b := shared(t)
	for _, name := range []string{
		"a", strings.Repeat("b", 52), strings.Repeat("c", 63), strings.Repeat("d", 64),
		strings.Repeat("e", 100) + ".with.dots." + strings.Repeat("f", 60), strings.Repeat("g", 253),
	} {
		t.Run(name[:1]+"-"+string(rune('0'+len(name)/100))+"xx", func(t *testing.T) {
			p := newPlace()
			b.manage(t, p, name)
			b.agent(t, p, "agent-0")
			b.connected(t, p, name)
			await(t, "the agent's bundle", func(ctx context.Context) (bool, string, error) {
				bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, p.workspace, names.AgentBundle(name))
				return bundle != nil, "", err
			})
		})
	}
}

// D07: two pairs of workspace and name that read the same when joined have different namespaces.
func TestPairsThatReadAlikeHaveNamespacesOfTheirOwn(t *testing.T) {
	b := shared(t)
	one, two := place{workspace: "d07-a", agents: "d07-1"}, place{workspace: "d07", agents: "d07-2"}
	b.manage(t, one, "b")
	b.manage(t, two, "a-b")
	namespaces := map[string]bool{}
	for _, c := range []struct {
		p    place
		name string
	}{{one, "b"}, {two, "a-b"}} {
		cluster, err := b.AwaitCluster(until(t), c.p.workspace, c.name, "namespace", func(c *fleet.Cluster) bool { return c.Status.Namespace != "" })
		require.NoError(t, err)
		namespaces[cluster.Status.Namespace] = true
		b.imported(t, c.p, c.name, "Imported")
	}
	require.Len(t, namespaces, 2)
}

// D04, attack 6: a cluster whose name begins like another's is not touched when that one goes.
func TestAClusterWhoseNameBeginsAlikeIsLeftAlone(t *testing.T) {
	b, p := shared(t), newPlace()
	second := place{workspace: p.workspace, agents: p.agents + "-2"}
	b.manage(t, p, "edge")
	b.manage(t, second, "edge-2")
	b.agent(t, second, "agent-0")
	b.connected(t, second, "edge-2")
	b.imported(t, p, "edge", "Imported")
	before := b.uids(t, second, "edge-2")

	b.deleteCluster(t, p.workspace, "edge")
	await(t, "cluster edge to be gone", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.workspace, "edge")
		return c == nil, describeCluster(ctx, b, p, "edge"), err
	})
	require.Equal(t, before, b.uids(t, second, "edge-2"))
	b.connected(t, second, "edge-2")
}

// uids are those of what a cluster has on the hub.
func (b *bed) uids(t *testing.T, p place, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	cluster, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, p.workspace, name)
	require.NoError(t, err)
	out["cluster"] = string(cluster.UID)
	ns, err := b.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), cluster.Status.Namespace, metav1.GetOptions{})
	require.NoError(t, err)
	out["namespace"] = string(ns.UID)
	for _, r := range b.requests(t, p.workspace) {
		if r.Status.ClusterName == name {
			out["request"] = string(r.UID)
		}
	}
	return out
}
