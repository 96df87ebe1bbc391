package upgrade_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
)

// latestKill is how long after the change an agent is killed at the latest: an upgrade takes about as long.
const latestKill = 8 * time.Second

// C14: the agent is killed at random moments of its own upgrade. It always ends with one agent, of the generation that is
// wanted, and with no release that is pending.
func TestAnAgentThatIsKilledInItsOwnUpgradeCompletesIt(t *testing.T) {
	b := theBed(t)
	c := b.byManager(t, "killed", nil)
	before := c.joined(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("the moments come from seed %d", seed)
	for round := range stage.Reduced(t, "agents killed in their upgrade:", 3, 200) {
		c.change(t, map[string]any{"agentEnvVars": []any{variable("ROUND", fmt.Sprint(round))}})
		time.Sleep(time.Duration(random.Int64N(int64(latestKill)))) // the moment
		for _, p := range c.processes() {
			require.NoError(t, p.Kill())
		}
		after := c.settle(t, "whole again", func(now state) bool { return now.generation != before.generation })
		require.Equal(t, next(t, before.revision), after.revision, "round %d: the template is changed once", round)
		before = after
		c.noneIsPending(t)
	}
	c.leave(t)
}

// noneIsPending looks at the releases in the agent's namespace.
func (c *cluster) noneIsPending(t *testing.T) {
	t.Helper()
	list, err := c.at.Kube.CoreV1().Secrets(c.agents).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	require.NoError(t, err)
	states := map[string]int{}
	for _, secret := range list.Items {
		states[secret.Labels["status"]]++
	}
	require.Equal(t, 1, states["deployed"], "%v", states)
	for _, pending := range []string{"pending-install", "pending-upgrade", "pending-rollback", "uninstalling", "uninstalled"} {
		require.Zero(t, states[pending], "%v", states)
	}
}
