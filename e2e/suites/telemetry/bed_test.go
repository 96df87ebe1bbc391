package telemetry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
)

// bed is a hub that registers itself, with the addresses at which hub and agent show their figures.
type bed struct {
	*stage.Stage
	hubMetrics, agentMetrics string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s, err := stage.NewForSuite(lab.New(t))
	require.NoError(t, err)
	b := &bed{Stage: s, hubMetrics: stage.FreeAddress(t), agentMetrics: stage.FreeAddress(t)}
	s.Env = append(stage.Election(8*time.Second, 6*time.Second, time.Second),
		"FLEET_METRICS_BIND_ADDRESS="+b.hubMetrics, "FLEET_AGENT_METRICS_BIND_ADDRESS="+b.agentMetrics)
	s.EndWithTest(t)
	require.NoError(t, s.InstallHub(t.Context(), map[string]any{"agentHeartbeatInterval": "2s"}))
	return b
}

func (b *bed) controller(t *testing.T) *proc.Process {
	t.Helper()
	p, err := b.StartController(t.Context())
	require.NoError(t, err)
	return p
}
