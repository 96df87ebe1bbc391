package handshake

import (
	"context"
	"encoding/base64"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// latestRestart is how long after a change of the configuration the API server is restarted at the latest.
const latestRestart = 2 * time.Second

// R17, O4: the hub's address and CA change again and again, and each time its API server restarts at some moment of the
// registration that follows. The agent moves each time, with no counter raised by anybody.
func TestAnAgentFollowsEachNewConfigurationWhileTheAPIServerRestarts(t *testing.T) {
	t.Parallel()
	plane := lab.New(t)
	values := map[string]any{"agentHeartbeatInterval": "10s"} // an API server that restarts is no silent agent
	maps.Copy(values, withoutLocal)
	b := newBed(t, plane, plane, values)
	b.started(t)
	addresses := []*shim.TLS{shim.Run(t, plane.URL, plane.CA()), shim.Run(t, plane.URL, plane.CA())}
	p := b.ownWorkspace(t)
	b.agentsGoTo(t, addresses[0])
	byManager{}.prepare(t, b, p)
	byManager{}.begin(t, b, p)
	// With the product's own times for the election: the API server is away for seconds.
	agent := b.run(t, func(ctx context.Context) (*proc.Process, error) {
		return b.StartAgent(ctx, b.edge, p.agents, "agent-0")
	})
	agent.keep(t)
	b.controller.keep(t)
	b.connected(t, p)

	last := b.request(t, p)
	random := stage.Random(t, "the moments of the restarts")
	rounds := reduced(t, "new configurations:", 2, 200)
	for round := range rounds {
		address := addresses[(round+1)%2]
		since := lastNumber(address)
		b.agentsGoTo(t, address)
		time.Sleep(time.Duration(random.Int64N(int64(latestRestart)))) // the moment of the restart
		if round < 2 || random.IntN(3) == 0 {
			require.NoError(t, b.Hub.RestartAPIServer(until(t)))
		}

		_, err := b.AwaitCluster(until(t), p.workspace, p.cluster, "imported with the new address", func(c *fleet.Cluster) bool {
			return c.Status.APIServerURL == address.URL()
		})
		require.NoError(t, err, "round %d", round)
		last = b.request(t, p, last)
		awaitBeat(t, address, since)
		cluster := b.connected(t, p)
		require.Zero(t, cluster.Spec.RedeployAgentGeneration)
		require.True(t, stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionImported), stage.Conditions(cluster.Status.Conditions))
	}
}

// agentsGoTo changes where agents find the hub.
func (b *bed) agentsGoTo(t *testing.T, address *shim.TLS) {
	t.Helper()
	require.NoError(t, b.Configure(t.Context(), func(config map[string]any) {
		config["apiServerURL"], config["apiServerCA"] = address.URL(), base64.StdEncoding.EncodeToString(address.CA())
	}))
}

// awaitBeat waits for a heartbeat through a shim.
func awaitBeat(t *testing.T, front *shim.TLS, since int) {
	t.Helper()
	await(t, "a heartbeat at the new address", func(context.Context) (bool, string, error) {
		for _, r := range front.Requests() {
			if r.Number > since && count.Leases(r.Key) && r.Verb == "update" && r.Code == 200 {
				return true, "", nil
			}
		}
		return false, "none", nil
	})
}
