package manageagent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// waves is a hub with clusters c0, c1, … whose agents run what they were given.
type waves struct {
	*hub
	t *testing.T
}

func newWaves(t *testing.T, n int) *waves {
	w := &waves{hub: newHub(t, "{}"), t: t}
	for i := range n {
		w.clusters.Add(cluster(func(c *fleet.Cluster) {
			c.Name = fmt.Sprintf("c%d", i)
			conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, "Test", "", now)
		}))
		w.look(i)
		w.comesBack(i)
	}
	return w
}

func (w *waves) cluster(i int) *fleet.Cluster {
	return w.clusters.Live(workspace, fmt.Sprintf("c%d", i))
}

func (w *waves) change(i int, f func(*fleet.Cluster)) {
	c := w.cluster(i)
	f(c)
	w.clusters.Add(c)
}

func (w *waves) look(i int) {
	w.t.Helper()
	_, err := w.onChange(workspace+"/"+w.cluster(i).Name, w.cluster(i))
	require.NoError(w.t, err)
}

// lookAll is until nothing changes any more.
func (w *waves) lookAll(n int) {
	for range 3 {
		for i := range n {
			w.look(i)
		}
	}
}

func (w *waves) mark(i int) mark {
	b, err := w.written.Cache().Get(workspace, names.AgentBundle(w.cluster(i).Name))
	require.NoError(w.t, err)
	return markOf(b)
}

// comesBack lets an agent run what its bundle carries.
func (w *waves) comesBack(i int) {
	w.change(i, func(c *fleet.Cluster) {
		c.Status.Agent = fleet.AgentStatus{LastSeen: metav1.NewTime(now), Generation: w.mark(i).Generation}
	})
}

func (w *waves) load(document string) {
	loaded, err := w.Config.Load(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "v1"}},
		Data:       map[string]string{names.ConfigKey: document},
	})
	require.NoError(w.t, err)
	require.Empty(w.t, loaded.Ignored)
	require.NoError(w.t, w.onConfig(w.t.Context(), config.Config{}))
}

func (w *waves) wants(i int) string {
	options, _, err := agentmanifest.Effective(w.cluster(i), settings(w.Config.Get()))
	require.NoError(w.t, err)
	return agentmanifest.Generation(options)
}

func (w *waves) given(n int) (out []int) {
	for i := range n {
		if w.mark(i).Generation == w.wants(i) {
			out = append(out, i)
		}
	}
	return out
}

func (w *waves) says(i int) string {
	c := conditions.GetCondition(w.cluster(i).Status.Conditions, fleet.ClusterConditionAgentUpgraded)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

const newImage = `{agentImage: "rancher/fleet-agent:v2", agentUpgrade: {maxUnavailable: 1}}`

func TestANewImageReachesOneAgentAfterTheOther(t *testing.T) {
	w := newWaves(t, 3)
	w.load(newImage)
	for i := range 3 {
		w.lookAll(3)
		require.Len(t, w.given(3), i+1)
		assert.Contains(t, w.says(i), "Unknown Upgrading")
		if i < 2 {
			assert.Contains(t, w.says(2), "Unknown Waiting waits for its turn")
		}
		w.comesBack(i)
		w.look(i)
		assert.Contains(t, w.says(i), "True Upgraded")
	}
	assert.Nil(t, w.waves.agents, "nothing is kept when nobody waits")
}

func TestOneThatWaitsIsLookedAtWhenItIsItsTurn(t *testing.T) {
	w := newWaves(t, 2)
	w.load(newImage)
	w.lookAll(2)
	w.comesBack(0)
	w.look(0)
	after, ok := w.clusters.After(workspace, "c1")
	assert.True(t, ok)
	assert.Zero(t, after)
}

func TestTheRestWaitsWhileACanaryIsWatched(t *testing.T) {
	w := newWaves(t, 3)
	w.change(2, func(c *fleet.Cluster) { c.Labels = map[string]string{"canary": "true"} })
	w.load(`{agentImage: "rancher/fleet-agent:v2", agentUpgrade: {canary: {matchLabels: {canary: "true"}}}}`)
	w.lookAll(3)
	assert.Equal(t, []int{2}, w.given(3))
	w.comesBack(2)
	w.lookAll(3)
	assert.Equal(t, []int{2}, w.given(3))
	assert.Contains(t, w.says(0), "watched until")
	_, again := w.waves.next(now)
	assert.Equal(t, now.Add(2*time.Minute), again, "asked for at every look: an earlier one takes its place in the queue")
	w.clock.SetTime(now.Add(2 * time.Minute))
	w.lookAll(3)
	assert.Equal(t, []int{0, 2}, w.given(3))
}

func TestAnOfflineAgentIsCaughtUpWhenItComesBack(t *testing.T) {
	connected := func(value metav1.ConditionStatus) func(*fleet.Cluster) {
		return func(c *fleet.Cluster) {
			conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, value, "Test", "", now)
		}
	}
	w := newWaves(t, 2)
	w.change(0, connected(metav1.ConditionFalse))
	w.load(newImage)
	w.lookAll(2)
	assert.Equal(t, []int{1}, w.given(2))
	assert.Contains(t, w.says(0), "waits for the agent to connect")
	w.comesBack(1)
	w.look(1)
	w.change(0, connected(metav1.ConditionTrue))
	w.look(0)
	assert.Equal(t, []int{0, 1}, w.given(2))
}

func TestWhatAPersonWantsOfOneClusterGoesAtOnce(t *testing.T) {
	w := newWaves(t, 3)
	w.load(newImage)
	w.lookAll(3)
	w.change(1, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
	w.look(1)
	w.change(2, func(c *fleet.Cluster) { c.Spec.AgentEnvVars = []corev1.EnvVar{{Name: "A", Value: "b"}} })
	w.look(2)
	assert.Equal(t, []int{0, 1, 2}, w.given(3))
	assert.True(t, w.mark(0).Waved)
	assert.False(t, w.mark(1).Waved)
}

func TestANewClusterAndOneThatWasJustImportedGoAtOnce(t *testing.T) {
	w := newWaves(t, 3)
	w.load(`{agentImage: "rancher/fleet-agent:v2", agentUpgrade: {maxUnavailable: 0}}`)
	w.lookAll(3)
	require.Empty(t, w.given(3))
	w.clusters.Add(cluster())
	_, err := w.hub.look(t)
	require.NoError(t, err)
	assert.Len(t, w.applied, 1)

	w.change(0, func(c *fleet.Cluster) {
		c.Annotations = map[string]string{names.ImportAnnotation: `{"generation":"` + w.wants(0) + `","time":"2026-03-01T12:00:00Z"}`}
	})
	w.change(1, func(c *fleet.Cluster) { c.Status.Agent.Generation = w.wants(1) })
	w.lookAll(3)
	assert.Equal(t, []int{0, 1}, w.given(3), "it restarts nothing")
}

func TestABundleThatCannotBeWrittenBlocksNoOther(t *testing.T) {
	w := newWaves(t, 2)
	w.load(newImage)
	w.fails = errors.New("too large")
	_, err := w.onChange(workspace+"/c0", w.cluster(0))
	require.ErrorContains(t, err, "fleet-default/c0")
	w.fails = nil
	w.look(1)
	assert.Equal(t, []int{1}, w.given(2))
}

func TestWhileTheNamespaceOfAnAgentIsTakenItsBundleIsHeld(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster(func(c *fleet.Cluster) {
		conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionImported, metav1.ConditionFalse, "AgentNamespaceTaken", "", now)
	}))
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)
}

// A cache that is behind shows the one that was let in as one that waits: nobody takes its place.
func TestACacheThatIsBehindLetsNobodyInTooMany(t *testing.T) {
	w := newWaves(t, 3)
	old, err := w.written.Cache().Get(workspace, "fleet-agent-c0")
	require.NoError(t, err)
	old = old.DeepCopy()
	w.load(newImage)
	w.look(0)
	require.Equal(t, []int{0}, w.given(3))
	fresh, err := w.written.Cache().Get(workspace, "fleet-agent-c0")
	require.NoError(t, err)
	fresh = fresh.DeepCopy()

	w.written.Add(old)
	w.change(0, func(c *fleet.Cluster) { c.Labels = map[string]string{"any": "change"} })
	w.waves.reset()
	w.look(1)
	w.look(2)
	assert.Empty(t, w.given(3), "the cache shows the old one of c0")
	assert.Contains(t, w.says(1), "Waiting")

	w.written.Add(fresh)
	w.comesBack(0)
	w.lookAll(3)
	assert.Equal(t, []int{0, 1}, w.given(3))
}

// What a person takes back after an agent did is no trouble any more.
func TestOptionsThatArePutBackEndWhatWasTakenBack(t *testing.T) {
	w := newWaves(t, 1)
	w.change(0, func(c *fleet.Cluster) { c.Spec.AgentEnvVars = []corev1.EnvVar{{Name: "A", Value: "bad"}} })
	w.look(0)
	w.change(0, func(c *fleet.Cluster) {
		c.Status.Agent.Upgrade = &fleet.AgentUpgradeStatus{Reason: "TakenBack", Message: "it crashed"}
	})
	w.look(0)
	assert.Equal(t, "False TakenBack it crashed", w.says(0))
	w.change(0, func(c *fleet.Cluster) { c.Spec.AgentEnvVars = nil })
	w.look(0)
	assert.Contains(t, w.says(0), "True Upgraded")
}
