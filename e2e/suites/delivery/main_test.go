// Package delivery_test delivers bundles from a hub to two clusters with agents, all of them processes with the rights of
// their charts, and looks at what people see: the objects on the clusters, the statuses on the hub, and what is written
// while nothing changes. The agents run as their Deployments say, by a stand-in for a node (e2e/node).
//
// The tests share hub and clusters. Each has bundles, namespaces and labels of its own, and takes them away.
package delivery_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// patience bounds a wait; it is several times what is expected on a machine that is busy with other things.
	patience = 3 * time.Minute
	// window is how long something is seen not to happen.
	window = 10 * time.Second
	// heartbeat is short enough for a test to see silence, and long enough for a busy machine not to be silent.
	heartbeat = "15s"
	one, two  = "one", "two"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// bed is a hub with two clusters.
type bed struct {
	*stage.Stage
	clusters map[string]*stage.Cluster
	nodes    map[string]*node.Node
	// line is between the hub and all that works with it.
	line *shim.TLS
	log  *count.AuditLog
}

var shared stage.SharedBed[bed]

// theBed is what all tests share. Where a test fails, it shows the ends of the logs.
func theBed(t *testing.T) *bed {
	t.Helper()
	b := shared.Of(t, func() *bed { return raise(t) })
	b.ExplainFailure(t)
	return b
}

func raise(t *testing.T) *bed {
	t.Helper()
	planes := stage.SharedClusters(t, stage.Audited("hub"), stage.SharedPlane{Name: one}, stage.SharedPlane{Name: two})
	s, err := stage.NewForSuite(planes[0].ControlPlane)
	require.NoError(t, err)
	b := &bed{
		Stage: s, nodes: map[string]*node.Node{}, log: count.NewAuditLog(s.Hub.AuditLog()),
		clusters: map[string]*stage.Cluster{one: planes[1], two: planes[2]},
	}
	b.line, err = shim.NewTLS(s.Hub.URL, s.Hub.CA()) // ends with the process, as all that is shared
	require.NoError(t, err)
	b.HubURL, b.HubCA = b.line.URL(), b.line.CA()
	b.Env = stage.Election(20*time.Second, 15*time.Second, 2*time.Second) // who kills an agent waits for its lease
	ctx := stage.Until(t, 2*patience)
	require.NoError(t, b.InstallHub(ctx, map[string]any{"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false}}))
	_, err = b.StartController(ctx)
	require.NoError(t, err)
	for _, name := range []string{one, two} {
		b.nodes[name], err = b.RunPods(ctx, b.clusters[name])
		require.NoError(t, err)
		require.NoError(t, b.JoinByManager(ctx, b.clusters[name], stage.Workspace, name, map[string]string{"env": "prod", "name": name}))
	}
	for _, name := range []string{one, two} {
		_, err := b.AwaitConnected(ctx, stage.Workspace, name)
		require.NoError(t, err)
	}
	return b
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}

// cluster reads a Cluster.
func (b *bed) cluster(t *testing.T, name string) *fleet.Cluster {
	t.Helper()
	c, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, stage.Workspace, name)
	require.NoError(t, err)
	require.NotNil(t, c, name)
	return c
}

// writes are those on the hub since the last call, by anybody but the tests; Leases, Events and reviews apart.
func (b *bed) writes(t *testing.T) count.Counts {
	t.Helper()
	all := count.Counts{}
	require.NoError(t, b.log.Read(func(e count.Entry) {
		if e.Key.Write() && e.UserAgent != "stage" && !count.Leases(e.Key) && !count.Events(e.Key) && !count.Reviews(e.Key) {
			all[e.Key]++
		}
	}))
	return all
}

// awaitQuiet waits until nothing has been written to the hub for the window.
func (b *bed) awaitQuiet(t *testing.T) {
	t.Helper()
	since, last := time.Now(), ""
	b.writes(t)
	await(t, fmt.Sprintf("nothing is written to the hub for %s", window), func(context.Context) (bool, string, error) {
		if writes := b.writes(t); writes.Total() > 0 {
			since, last = time.Now(), writes.String()
		}
		return time.Since(since) > window, last, nil
	})
}
