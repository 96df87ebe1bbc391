package trust_test

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
)

// bed is a hub with its controller, and a downstream cluster.
type bed struct {
	*stage.Stage
	edge       *stage.Cluster
	controller *proc.Process
	// front is the hub as its configuration has it.
	front *shim.TLS
}

var (
	theBed stage.SharedBed[bed]
	places atomic.Int32
)

// ofTheBed starts the bed, or returns the one that runs.
func ofTheBed(t *testing.T) *bed {
	t.Helper()
	b := theBed.Of(t, func() *bed {
		s, edge := stage.HubAndEdge(t)
		s.Env = election
		front, err := shim.NewTLS(s.HubURL, s.HubCA) // as long as the tests run
		require.NoError(t, err)
		b := &bed{Stage: s, edge: edge, front: front}
		require.NoError(t, s.InstallHub(until(t), b.values(nil)))
		b.controller, err = s.StartController(until(t))
		require.NoError(t, err)
		return b
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of the controller\n%s", b.controller.Tail(80))
		}
	})
	require.True(t, b.controller.Running(), "the hub has ended: %s", b.controller.Tail(60))
	return b
}

// values are those of the hub's chart, with changes laid over them.
func (b *bed) values(changes map[string]any) map[string]any {
	all := map[string]any{
		"agentHeartbeatInterval": heartbeat,
		"bootstrap":              map[string]any{"enabled": false},
		"apiServerURL":           b.front.URL(),
		"apiServerCA":            string(b.front.CA()),
		"agentTLSMode":           "strict",
	}
	maps.Copy(all, changes)
	return all
}

// configure upgrades the hub's chart.
func (b *bed) configure(t *testing.T, changes map[string]any) {
	t.Helper()
	require.NoError(t, b.InstallHub(until(t), b.values(changes)))
}

// configured is configure until the end of the test.
func (b *bed) configured(t *testing.T, changes map[string]any) {
	t.Helper()
	b.configure(t, changes)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, b.InstallHub(ctx, b.values(nil)))
	})
}

// place is a workspace and an agent namespace that no other test uses.
type place struct{ workspace, agents string }

func newPlace() place {
	n := places.Add(1)
	return place{workspace: fmt.Sprintf("ws-%d", n), agents: fmt.Sprintf("agents-%d", n)}
}
