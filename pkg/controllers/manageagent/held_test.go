package manageagent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// standing are the ways in which a Cluster stands by: what sets it aside, what ends that, and what is said meanwhile.
var standing = map[string]struct {
	begin, end func(*fleet.Cluster)
	says       string
}{
	"held": {
		func(c *fleet.Cluster) {
			c.Annotations = map[string]string{names.CloneAnnotation: `{"why":"they take turns"}`}
		},
		func(c *fleet.Cluster) { c.Annotations = nil },
		"Unknown Waiting waits for the cluster, which is held: condition AgentConnected says why",
	},
	"paused": {
		func(c *fleet.Cluster) { c.Spec.Paused = true }, func(c *fleet.Cluster) { c.Spec.Paused = false },
		"Unknown Waiting waits for the cluster, which is paused",
	},
	"offline": {
		connected(metav1.ConditionFalse), connected(metav1.ConditionTrue), "Unknown Waiting waits for the agent to connect",
	},
}

func connected(status metav1.ConditionStatus) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, status, "Test", "", now)
	}
}

// B12: nothing that is written for such a Cluster reaches its agent.
func TestAClusterThatStandsByTakesNoTurnAndIsCaughtUpLater(t *testing.T) {
	for name, test := range standing {
		w := newWaves(t, 3)
		w.change(0, test.begin)
		w.load(newImage)
		for i := 1; i < 3; i++ {
			w.lookAll(3)
			require.Contains(t, w.given(3), i, name)
			w.comesBack(i)
		}
		w.clock.SetTime(now.Add(2 * hangAfter))
		w.lookAll(3)
		assert.Equal(t, []int{1, 2}, w.given(3), name)
		assert.Contains(t, w.says(0), test.says, name)

		w.change(0, test.end)
		w.lookAll(3)
		assert.Equal(t, []int{0, 1, 2}, w.given(3), name)
		assert.Contains(t, w.says(0), "Unknown Upgrading", name)
	}
}

func TestAClusterThatStandsByWhileItIsUnderWayIsNotStalled(t *testing.T) {
	for name, test := range standing {
		w := newWaves(t, 3)
		w.change(0, func(c *fleet.Cluster) { c.Labels = map[string]string{"canary": "true"} })
		w.load(`{agentImage: "rancher/fleet-agent:v2", agentUpgrade: {maxUnavailable: 1, soak: 0s, canary: {matchLabels: {canary: "true"}}}}`)
		w.lookAll(3)
		require.Equal(t, []int{0}, w.given(3), name)
		w.change(0, test.begin)
		w.lookAll(3)
		assert.Contains(t, w.says(0), test.says, name)
		w.clock.SetTime(now.Add(hangAfter + time.Second))
		w.lookAll(3)
		assert.Contains(t, w.says(0), test.says, name)
		assert.Equal(t, []int{0, 1}, w.given(3), name)

		w.change(0, test.end)
		w.lookAll(3)
		assert.Contains(t, w.says(0), "Unknown Upgrading", "%s: it has as much time as any other", name)
		assert.NotContains(t, w.says(2), "stopped", name)
		w.clock.SetTime(now.Add(2*hangAfter + 2*time.Second))
		w.lookAll(3)
		assert.Contains(t, w.says(0), "False Stalled", name)
		assert.Contains(t, w.says(2), "stopped", name)
	}
}
