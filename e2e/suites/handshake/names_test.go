package handshake

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// D11: what a cluster is called means nothing. Each of these names has the form of something that Fleet makes, or of what
// Rancher makes and finds again by its name.
func TestClustersThatAreCalledLikeWhatFleetMakesJoin(t *testing.T) {
	b, ws := shared(t), ""
	joined := map[string]place{}
	for _, name := range []string{
		"c-abcde", "my-c-abcde-x", "c-m-abcde123",
		"edge", "import-token-edge", "fleet-agent-edge", "cluster-" + names.KeyHash("edge"), "local",
		"request-bcdfg", "edge-to-role",
	} {
		p := b.newPlace()
		if ws == "" {
			ws = "ws-" + p.tag
			require.NoError(t, b.EnsureNamespace(t.Context(), ws))
		}
		p.workspace, p.cluster = ws, name
		byManager{}.prepare(t, b, p)
		byManager{}.begin(t, b, p)
		joined[name] = p
	}
	// One more is called like the namespace of another.
	first, err := b.AwaitCluster(until(t), ws, "edge", "a namespace", func(c *fleet.Cluster) bool { return c.Status.Namespace != "" })
	require.NoError(t, err)
	alike := b.newPlace()
	alike.workspace, alike.cluster = ws, first.Status.Namespace
	byManager{}.prepare(t, b, alike)
	byManager{}.begin(t, b, alike)
	joined[alike.cluster] = alike
	t.Cleanup(func() { b.discard(t, place{workspace: ws}) })

	for _, p := range joined {
		b.agent(t, byManager{}, p)
	}
	namespaces := map[string]string{}
	for name, p := range joined {
		cluster, err := b.AwaitConnected(until(t), ws, name)
		require.NoError(t, err)
		require.Equal(t, names.ClusterNamespace(ws, name), cluster.Status.Namespace)
		require.Empty(t, namespaces[cluster.Status.Namespace], "namespace %s of %s", cluster.Status.Namespace, name)
		namespaces[cluster.Status.Namespace] = name
		require.Equal(t, p.agents, cluster.Status.Agent.Namespace, "the agent that reports for %s", name)
	}
	b.requireOneRequestEach(t, ws, joined)
}

// requireOneRequestEach waits until each cluster of a workspace has one registration, which is in use, and its bundle.
func (b *bed) requireOneRequestEach(t *testing.T, ws string, joined map[string]place) {
	t.Helper()
	await(t, "one registration in use for each cluster", func(ctx context.Context) (bool, string, error) {
		requests, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, ws)
		if err != nil || len(requests) != len(joined) {
			return false, fmt.Sprintf("%d registrations", len(requests)), err
		}
		for _, r := range requests {
			if !stage.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed) {
				return false, describe(r), nil
			}
		}
		bundles, err := stage.List[fleet.Bundle](ctx, b.Hub, stage.Bundles, ws)
		return len(bundles) == len(joined), fmt.Sprintf("%d bundles", len(bundles)), err
	})
	requests, err := stage.List[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, ws)
	require.NoError(t, err)
	of := map[string]bool{}
	for _, r := range requests {
		require.False(t, of[r.Status.ClusterName], "two registrations of %s", r.Status.ClusterName)
		of[r.Status.ClusterName] = true
		require.Contains(t, joined, r.Status.ClusterName)
	}
}
