package cluster

import (
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func (h *hub) edge() *fleet.Cluster { return h.clusters.Live(workspace, edge) }

func (h *hub) condition(t *testing.T, kind string) genericcondition.GenericCondition {
	t.Helper()
	c := conditions.GetCondition(h.edge().Status.Conditions, kind)
	require.NotNil(t, c, kind)
	return *c
}

// change has somebody change the Cluster.
func (h *hub) change(t *testing.T, change func(*fleet.Cluster)) {
	t.Helper()
	c := h.edge().DeepCopy()
	change(c)
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.writes()
}

func (h *hub) looks(t *testing.T, times int) {
	t.Helper()
	for range times {
		require.NoError(t, h.look(t))
	}
}

// given is a request that was granted, with its account.
func (h *hub) given(name string) *fleet.ClusterRegistration {
	r := request(name, func(r *fleet.ClusterRegistration) {
		r.Status.Granted = true
		r.Status.Credentials = []fleet.CredentialRecord{{Digest: "0123456789abcdef"}}
	})
	h.registrations.Add(r)
	h.accounts.Add(account(names.Account(r.Name, string(r.UID))))
	return r
}

func TestARevokedClusterSaysWhatIsLeftUntilNothingIs(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.looks(t, 2)
	r := h.given("request-1")
	h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = true })

	h.looks(t, 1)
	assert.Equal(t, "0 revoked", h.edge().Annotations[names.PlaceAnnotation], "the namespace is spent from now on")
	h.looks(t, 1)
	c := h.condition(t, fleet.ClusterConditionRevoked)
	assert.Equal(t, corev1.ConditionFalse, c.Status)
	assert.Equal(t, "Revoking", c.Reason)
	assert.Contains(t, c.Message, "1 registration requests, 1 accounts")
	after, ordered := h.clusters.After(workspace, edge)
	require.True(t, ordered, "a deletion that a broken watch missed names nobody")
	assert.Equal(t, lookAgain, after)

	r.Status.Granted = false
	h.registrations.Add(r)
	h.looks(t, 1)
	assert.Contains(t, h.condition(t, fleet.ClusterConditionRevoked).Message, "0 registration requests, 1 accounts")

	// The cache shows no account any more, the API server still has it.
	name := names.Account(r.Name, string(r.UID))
	h.accounts.Hide(hubNames().Agents, name)
	h.looks(t, 1)
	assert.Equal(t, "Revoking", h.condition(t, fleet.ClusterConditionRevoked).Reason)

	h.accounts.Remove(hubNames().Agents, name)
	h.looks(t, 1)
	c = h.condition(t, fleet.ClusterConditionRevoked)
	assert.Equal(t, corev1.ConditionTrue, c.Status)
	assert.Contains(t, c.Message, "watch")
	h.writes()
	h.looks(t, 2)
	assert.Empty(t, h.writes())
	assert.Equal(t, 1, h.namespaces.Len(), "what lies in the namespace stays until the cluster is readmitted")
}

func TestNothingIsMadeForWhoIsRevoked(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.looks(t, 2)
	h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = true })
	h.looks(t, 2)
	h.writes()

	h.leases.Remove(place(), names.HeartbeatLease)
	h.namespaces.Remove("", place())
	h.looks(t, 2)
	assert.Empty(t, h.writes())
	assert.Equal(t, place(), h.edge().Status.Namespace, "what it was stays said")
}

func TestAReadmittedClusterGetsANamespaceThatNobodyEverWatched(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, func(c *fleet.Cluster) {
		for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid} {
			conditions.SetCondition(&c.Status.Conditions, kind, metav1.ConditionTrue, "Test", "", now)
		}
	}))
	h.looks(t, 2)
	used := map[string]bool{place(): true}
	for round := 1; round <= 3; round++ {
		h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = true })
		h.looks(t, 3)
		h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = false })
		h.looks(t, 2)

		next := names.ClusterPlace(workspace, edge, round)
		assert.False(t, used[next])
		used[next] = true
		assert.Equal(t, next, h.edge().Status.Namespace)
		require.NotNil(t, h.namespaces.Live("", next))
		require.NotNil(t, h.leases.Live(next, names.HeartbeatLease))
		revoked := h.condition(t, fleet.ClusterConditionRevoked)
		assert.Equal(t, "Readmitted", revoked.Reason)
		assert.Contains(t, revoked.Message, next)
		assert.Equal(t, "WaitingForAgent", h.condition(t, fleet.ClusterConditionAgentConnected).Reason, "nobody beats in the new namespace")
		assert.Equal(t, "Revoked", h.condition(t, fleet.ClusterConditionCredentialValid).Reason)
		assert.Equal(t, corev1.ConditionTrue, h.condition(t, fleet.ClusterConditionRegistered).Status)

		h.looks(t, 2)
		assert.Equal(t, 1, h.namespaces.Len(), "the one before is cleaned up")

		// Once the agent has come back, nothing of that is said again.
		_, err := h.clusters.UpdateStatus(func() *fleet.Cluster {
			c := h.edge().DeepCopy()
			conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, "Heartbeat", "", now.Add(time.Hour))
			return c
		}())
		require.NoError(t, err)
		h.writes()
		h.looks(t, 2)
		assert.Empty(t, h.writes())
	}
}

// A person who readmits at once leaves the hub no time to say that the cluster was revoked.
func TestAReadmissionCountsHoweverSoonItComes(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.looks(t, 2)
	h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = true })
	h.looks(t, 1)
	h.change(t, func(c *fleet.Cluster) { c.Spec.Revoked = false })
	h.looks(t, 2)

	assert.Equal(t, names.ClusterPlace(workspace, edge, 1), h.edge().Status.Namespace)
	assert.Equal(t, "Readmitted", h.condition(t, fleet.ClusterConditionRevoked).Reason)
}

func TestAPlaceThatCannotBeReadIsToldAndNothingIsMade(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, func(c *fleet.Cluster) {
		c.Annotations = map[string]string{names.PlaceAnnotation: "nonsense"}
	}))
	h.looks(t, 2)
	processed := h.condition(t, fleet.ClusterConditionProcessed)
	assert.Equal(t, "NamespaceBlocked", processed.Reason)
	assert.Contains(t, processed.Message, "fleet.cattle.io/place")
	assert.Zero(t, h.namespaces.Len())
}

func TestOnlyProvenPlacesAreCleanedUp(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, func(c *fleet.Cluster) {
		c.Annotations = map[string]string{names.PlaceAnnotation: "1"}
	}))
	victim := namespace(ownedBy(edgeUID))
	victim.Name = "kube-system"
	earlier := namespace(ownedBy("uid-of-an-earlier-edge"))
	h.namespaces.Add(victim, earlier)
	h.looks(t, 4)
	assert.NotNil(t, h.namespaces.Live("", "kube-system"), "marks alone prove nothing")
	assert.NotNil(t, h.namespaces.Live("", place()), "it is another Cluster's")
}

func TestADeletedClusterTakesAllItsPlacesWithIt(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted, func(c *fleet.Cluster) {
		c.Annotations = map[string]string{names.PlaceAnnotation: "1"}
	}))
	latest := namespace(ownedBy(edgeUID))
	latest.Name, latest.UID = names.ClusterPlace(workspace, edge, 1), "uid-of-the-second"
	latest.Annotations[names.PlaceAnnotation] = "1"
	h.namespaces.Add(namespace(ownedBy(edgeUID)), latest)
	h.looks(t, 1)
	assert.Zero(t, h.namespaces.Len())
}
