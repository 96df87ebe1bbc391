package clusterimport

import (
	"net/http"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

const lateKey = workspace + "/late"

// late adds a second Cluster to a hub whose kubeconfig is that of the first.
func (h *hub) late() {
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Name, c.UID, c.Spec.ClientID = "late", "uid-of-late", "client-of-late" }))
}

// tryLate does all that an import of the second Cluster needs, as far as it is let.
func (h *hub) tryLate(t *testing.T) {
	t.Helper()
	require.NoError(t, h.work(t.Context(), lateKey))
	if token := h.tokens.Live(workspace, "import-token-late"); token != nil {
		h.answerTokenOf(t, token)
		require.NoError(t, h.work(t.Context(), lateKey))
	}
}

func (h *hub) importedLate(t *testing.T) (reason, message string) {
	t.Helper()
	c := conditions.GetCondition(h.clusters.Live(workspace, "late").Status.Conditions, fleet.ClusterConditionImported)
	require.NotNil(t, c)
	return c.Reason, c.Message
}

// fedLate hands the second Cluster to the handler as its events do, and says whether that fed the queue.
func (h *hub) fedLate(t *testing.T) bool {
	t.Helper()
	c, err := h.clusters.Cache().Get(workspace, "late")
	require.NoError(t, err)
	f, err := h.observe(c)
	require.NoError(t, err)
	return h.changed(lateKey, f)
}

// R03: two Clusters whose kubeconfigs lead to one cluster do not take turns; the second is told of the first.
func TestOfTwoClustersWithOnePlaceTheSecondWaits(t *testing.T) {
	h, d := joined(t)
	h.late()
	h.tryLate(t)

	reason, message := h.importedLate(t)
	assert.Equal(t, "AgentNamespaceTaken", reason)
	assert.Contains(t, message, key)
	assert.Empty(t, d.Writes())
	assert.Nil(t, h.clusters.Live(workspace, "late").Annotations, "nothing is recorded of what was not begun")
	assert.Equal(t, h.edgeMark(), d.ownerIn(system))

	h.fedLate(t)
	require.NoError(t, h.work(t.Context(), lateKey))
	h.writes()
	d.Reset()
	assert.False(t, h.fedLate(t), "no look without a change")
	h.clock.SetTime(h.clock.Now().Add(13 * time.Hour))
	require.NoError(t, h.work(t.Context(), lateKey))
	assert.Empty(t, h.writes(), "a sweep makes no token, although the first one has ended")
	assert.Len(t, d.Requests(), 2, "and looks twice")
	h.work1(t)
	assert.Empty(t, d.Writes(), "the first one is well")
}

// The second one goes on as soon as the first has lost the place, in whatever way.
func TestAWaitingClusterIsWokenWhenThePlaceIsFree(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *hub){
		"the first is gone": func(_ *testing.T, h *hub) { h.clusters.Remove(workspace, edge) },
		"it leaves": func(t *testing.T, h *hub) {
			h.change(t, func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} })
		},
		"it is revoked": func(t *testing.T, h *hub) { h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = true }) },
		"it was imported elsewhere": func(t *testing.T, h *hub) {
			h.change(t, recorded(registration.Import{ClusterUID: "x", Namespace: system, Time: now}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := joined(t)
			h.late()
			h.tryLate(t)
			h.fedLate(t)
			require.False(t, h.fedLate(t))
			keys, err := h.clustersWaitingFor(workspace, edge, nil)
			require.NoError(t, err)
			require.Equal(t, []relatedresource.Key{{Namespace: workspace, Name: "late"}}, keys)
			other, err := h.clustersWaitingFor(workspace, "other", nil)
			require.NoError(t, err)
			require.Empty(t, other)

			lose(t, h)

			assert.True(t, h.fedLate(t))
			h.tryLate(t)
			reason, _ := h.importedLate(t)
			assert.Equal(t, "Imported", reason)
			assert.Equal(t, "late", d.ownerIn(system).Name)
			assert.Empty(t, h.waiting)
		})
	}
}

// What it did not see in time it looks for: the holder may have gone between the look and the note of whom it waits for.
func TestAWaitingClusterIsLookedAtOnceMore(t *testing.T) {
	h, _ := joined(t)
	h.late()
	h.tryLate(t)
	after, ok := h.clusters.After(workspace, "late")
	assert.True(t, ok)
	assert.Zero(t, after)
}

// The first one moves its agent out of the way: the second one gets the namespace once that agent has been removed.
func TestANamespaceIsFreeWhenTheAgentThatLeftItIsGone(t *testing.T) {
	h, d := joined(t)
	h.late()
	h.tryLate(t)
	h.change(t, func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" })
	h.importNow(t)
	h.tryLate(t)
	reason, _ := h.importedLate(t)
	assert.Equal(t, "AgentNamespaceTaken", reason, "the old agent runs until the new one has reported")
	assert.Equal(t, edge, d.ownerIn(system).Name)

	h.change(t, connectedNow(h))
	h.work1(t)
	assert.Zero(t, d.ownerIn(system), "the mark goes with the agent")
	assert.Equal(t, edge, d.ownerIn("agents").Name)
	h.tryLate(t)
	assert.Equal(t, "late", d.ownerIn(system).Name)
}

func secretOfLate(d *downstream) *corev1.Secret {
	secret := kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig})
	secret.Name = "kubeconfig-of-late"
	return secret
}

// A Cluster whose kubeconfig was changed to that of another one keeps what it had, and goes back to it.
func TestAKubeconfigOfAnothersClusterChangesNothingThere(t *testing.T) {
	h, d := joined(t)
	other := anotherDownstream(t, d)
	h.late()
	h.secrets.Add(secretOfLate(other))
	c := h.clusters.Live(workspace, "late")
	c.Spec.KubeConfigSecret = "kubeconfig-of-late"
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.tryLate(t)
	reason, _ := h.importedLate(t)
	require.Equal(t, "Imported", reason)
	before := h.clusters.Live(workspace, "late").Annotations

	h.secrets.Add(secretOfLate(d))
	h.tryLate(t)
	reason, _ = h.importedLate(t)
	assert.Equal(t, "AgentNamespaceTaken", reason)
	assert.Equal(t, before, h.clusters.Live(workspace, "late").Annotations)
	assert.Empty(t, d.Writes())
}

// A cluster moves from one hub to another: the new one takes it, and the old one does not take it back however long its
// agent is silent there.
func TestAHubDoesNotTakeBackWhatAnotherHubTookOver(t *testing.T) {
	old, d := joined(t)
	next := second(t, d)
	next.importNow(t)
	require.Equal(t, "Imported", next.imported(t).Reason)
	require.Equal(t, next.edgeMark(), d.ownerIn(system))
	next.change(t, connectedNow(next))
	deployment := d.Object("Deployment", system, "fleet-agent")
	d.Reset()

	old.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(time.Minute)))
	for range 5 {
		old.clock.SetTime(old.clock.Now().Add(time.Hour))
		old.importNow(t)
	}
	assert.Equal(t, "AgentNamespaceTaken", old.imported(t).Reason)
	assert.Contains(t, old.imported(t).Message, anotherHub)
	assert.Empty(t, d.Writes())
	assert.Equal(t, deployment, d.Object("Deployment", system, "fleet-agent"))
	next.work1(t)
	assert.Empty(t, d.Writes())

	// A change of the hub's own is no order of a person's either.
	old.configure(t, map[string]any{"apiServerURL": "https://moved.example.com"})
	old.importNow(t)
	assert.Empty(t, d.Writes())
}

func TestAPersonTakesAClusterBack(t *testing.T) {
	for name, order := range map[string]func(*testing.T, *hub, *downstream){
		"by redeployAgentGeneration": func(t *testing.T, h *hub, _ *downstream) {
			h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration++ })
		},
		"by taking the mark off": func(t *testing.T, _ *hub, d *downstream) { d.mark(t, system, "") },
	} {
		t.Run(name, func(t *testing.T) {
			old, d := joined(t)
			next := second(t, d)
			next.importNow(t)
			old.clock.SetTime(now.Add(time.Hour))
			old.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(time.Minute)))
			old.importNow(t)
			require.Equal(t, "AgentNamespaceTaken", old.imported(t).Reason)

			order(t, old, d)
			old.importNow(t)
			assert.Equal(t, "Imported", old.imported(t).Reason)
			assert.Equal(t, old.edgeMark(), d.ownerIn(system))

			next.clock.SetTime(now.Add(2 * time.Hour))
			next.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(90*time.Minute)))
			next.importNow(t)
			assert.Equal(t, "AgentNamespaceTaken", next.imported(t).Reason, "and now the other one lets go")
			assert.Equal(t, old.edgeMark(), d.ownerIn(system))
		})
	}
}

// It ends between the record and the mark: the next look knows what this import was allowed to replace.
func TestAMoveThatIsCutOffIsCompleted(t *testing.T) {
	_, d := joined(t)
	next := second(t, d)
	next.work1(t)
	next.answerToken(t)
	d.refuse("/namespaces/"+system, http.StatusInternalServerError, metav1.StatusReasonInternalError, "cut")
	require.Error(t, next.work(t.Context(), key))
	require.NotEmpty(t, record(t, next).Replaces)
	d.Intercept(nil)
	next.work1(t)
	assert.Equal(t, "Imported", next.imported(t).Reason)
	assert.Equal(t, next.edgeMark(), d.ownerIn(system))
}

// A new kubeconfig for a cluster that another hub has taken is noted by neither import nor condition.
func TestANewKubeconfigIsNoReasonToCallALostClusterImported(t *testing.T) {
	old, d := joined(t)
	next := second(t, d)
	next.importNow(t)
	d.Reset()
	old.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: append([]byte("# new\n"), d.kubeconfig...)}))
	old.work1(t)
	assert.Equal(t, "AgentNamespaceTaken", old.imported(t).Reason)
	assert.Empty(t, d.Writes())
}
