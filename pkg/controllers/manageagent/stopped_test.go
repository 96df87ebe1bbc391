package manageagent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func takesBack(c *fleet.Cluster) {
	c.Status.Agent.Upgrade = &fleet.AgentUpgradeStatus{Reason: "TakenBack", Message: "it crashed\x1b[31m"}
}

func TestAnUpgradeThatIsTakenBackStopsTheRestUntilThereIsANewOne(t *testing.T) {
	w := newWaves(t, 3)
	w.load(newImage)
	w.lookAll(3)
	w.change(0, takesBack)
	w.lookAll(3)
	assert.Equal(t, []int{0}, w.given(3))
	assert.Equal(t, "False TakenBack it crashed [31m", w.says(0))
	assert.Contains(t, w.says(1), "stopped: as many as may be under way at once were taken back or hang; condition AgentUpgraded of cluster c0")

	w.load(`{agentImage: "rancher/fleet-agent:v3", agentUpgrade: {maxUnavailable: 1}}`)
	w.lookAll(3)
	assert.Equal(t, []int{0}, w.given(3), "the mended one goes on")
}

func TestACanaryThatIsTakenBackStopsAll(t *testing.T) {
	w := newWaves(t, 4)
	w.change(3, func(c *fleet.Cluster) { c.Labels = map[string]string{"canary": "true"} })
	w.load(`{agentImage: "rancher/fleet-agent:v2", agentUpgrade: {maxUnavailable: 2, canary: {matchLabels: {canary: "true"}}}}`)
	w.lookAll(4)
	w.change(3, takesBack)
	w.lookAll(4)
	assert.Equal(t, []int{3}, w.given(4))
	assert.Contains(t, w.says(0), "stopped: that of a canary cluster was taken back or hangs; condition AgentUpgraded of cluster c3")
}

// What is set aside, by whatever a person does about it, gives its place back.
func TestAClusterThatIsSetAsideGivesItsPlaceBack(t *testing.T) {
	for name, aside := range map[string]func(*fleet.Cluster){
		"revoked":       func(c *fleet.Cluster) { c.Spec.Revoked = true },
		"being deleted": func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} },
		"redeployed":    func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 },
	} {
		w := newWaves(t, 2)
		w.load(newImage)
		w.lookAll(2)
		w.change(0, takesBack)
		w.lookAll(2)
		require.Contains(t, w.says(1), "stopped", name)
		w.change(0, aside)
		w.clusters.ForgetTimers()
		w.look(0)
		after, ok := w.clusters.After(workspace, "c1")
		assert.True(t, ok, name)
		assert.Zero(t, after, name)
		w.look(1)
		assert.Equal(t, w.wants(1), w.mark(1).Generation, name)
	}
}

func TestAClusterThatIsGoneGivesItsPlaceBack(t *testing.T) {
	w := newWaves(t, 2)
	w.load(newImage)
	w.lookAll(2)
	w.change(0, takesBack)
	w.lookAll(2)
	require.Contains(t, w.says(1), "stopped")
	w.clusters.Remove(workspace, "c0")
	_, err := w.onChange(workspace+"/c0", nil)
	require.NoError(t, err)
	w.look(1)
	assert.Equal(t, w.wants(1), w.mark(1).Generation)
}

// Each change of what they wait for is a write for each that waits: one agent must not cause more of them than the hub.
func TestAnAgentThatChangesItsMindTellsTheOthersSeldom(t *testing.T) {
	w := newWaves(t, 3)
	w.load(newImage)
	w.lookAll(3)
	told := 0
	turns := func(n int) {
		for i := range n {
			w.change(0, func(c *fleet.Cluster) { c.Status.Agent.Upgrade = nil })
			if i%2 == 0 {
				w.change(0, takesBack)
			}
			w.clusters.ForgetTimers()
			w.look(0)
			if _, ok := w.clusters.After(workspace, "c2"); ok {
				told++
			}
		}
	}
	turns(20)
	assert.Equal(t, 1, told)
	w.clock.SetTime(now.Add(sayEvery))
	turns(20)
	assert.Equal(t, 2, told)
}

func TestAnAgentThatHangsIsSaidAndStopsTheRest(t *testing.T) {
	w := newWaves(t, 2)
	w.load(newImage)
	w.lookAll(2)
	w.clock.SetTime(now.Add(hangAfter + time.Second))
	w.lookAll(2)
	assert.Contains(t, w.says(0), "False Stalled")
	assert.Contains(t, w.says(1), "stopped: as many as may be under way at once were taken back or hang; condition AgentUpgraded of cluster c0")
	assert.Equal(t, []int{0}, w.given(2))
}
