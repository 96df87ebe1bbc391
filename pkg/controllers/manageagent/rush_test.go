package manageagent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestAFirstBundleGivesWayToAgentsThatWaitForTheirAnswer(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	waiting := rush
	h.Waiting = func() int { return waiting }

	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)
	after, again := h.clusters.After(workspace, edge)
	assert.True(t, again, "it is looked at again by itself")
	assert.Equal(t, yields, after)

	waiting = rush - 1
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge"}, calls)
}

func TestNoRushHoldsABundleUpForLong(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	h.Waiting = func() int { return 1000 }
	h.clock.SetTime(now.Add(longestYield - time.Second))
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)

	h.clock.SetTime(now.Add(longestYield))
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge"}, calls)
}

func TestABundleThatIsThereChangesAlsoInARush(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	_, err := h.look(t)
	require.NoError(t, err)

	h.Waiting = func() int { return 1000 }
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 2 }))
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge"}, calls)
}

func TestAFirstBundleIsWrittenOnceThoughTheCacheIsBehind(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	_, err := h.look(t)
	require.NoError(t, err)
	h.written.Hide(workspace, "fleet-agent-edge")

	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)
	after, again := h.clusters.After(workspace, edge)
	assert.True(t, again, "should it be gone, it comes back")
	assert.Equal(t, unseenFor, after)

	h.written.Sync()
	_, err = h.look(t)
	require.NoError(t, err)
	h.written.Remove(workspace, "fleet-agent-edge")
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge"}, calls, "one that was seen and is gone is written anew at once")
}
