package trust_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// joinsByItself writes what the agent's chart would, into a namespace of the test's own (the chart insists on one), and
// starts the agent. The Cluster is made by the registration.
func (b *bed) joinsByItself(t *testing.T, clientID string) *cluster {
	t.Helper()
	c := &cluster{bed: b, place: newPlace(), name: names.RegisteredCluster(clientID)}
	values, err := b.NewToken(until(t), c.workspace, "token", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	require.NoError(t, b.edge.PrepareAgent(t.Context(), c.agents, clientID))
	require.NoError(t, b.edge.WriteBootstrap(t.Context(), c.agents, values))
	c.deleteAtEnd(t, c.name)
	process, err := b.StartBareAgent(t.Context(), b.edge, c.agents, "agent-"+c.agents, "HEARTBEAT_INTERVAL="+heartbeat)
	require.NoError(t, err)
	c.keep(t, process)
	return c
}
