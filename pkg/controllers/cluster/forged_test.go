package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// An agent may write its Cluster's status. Whatever it says there, the hub makes no namespace but the cluster's own, puts
// nothing into another, and writes the right one back.
func TestAForgedNamespaceInTheStatusIsPutRight(t *testing.T) {
	victim := names.ClusterNamespace(workspace, "not-yet-there")
	for name, claim := range map[string]string{"one that does not exist": victim, "one of somebody else": "fleet-default"} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fleet-default"}})
			h.clusters.Add(newCluster(prepare, func(c *fleet.Cluster) { c.Status.Namespace = claim }))

			require.NoError(t, h.look(t))

			assert.Equal(t, []string{
				"create Namespace " + place(),
				"create Lease " + place() + "/fleet-agent",
				"updateStatus Cluster fleet-default/edge",
			}, h.writes())
			assert.Equal(t, place(), h.clusters.Live(workspace, edge).Status.Namespace)
		})
	}
}

// Without its label the Lease is invisible to the hub, which would take its last word about the agent for ever.
func TestALeaseThatLostItsMarksGetsThemBack(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	require.NoError(t, h.look(t))
	lease := h.leases.Live(place(), names.HeartbeatLease).DeepCopy()
	lease.Labels, lease.Annotations = nil, nil
	h.leases.Add(lease)
	h.leases.Hide(place(), names.HeartbeatLease) // the informer selects on the label
	h.writes()

	require.NoError(t, h.look(t))

	assert.Equal(t, []string{"create Lease " + place() + "/fleet-agent", "update Lease " + place() + "/fleet-agent"}, h.writes())
	healed := h.leases.Live(place(), names.HeartbeatLease)
	assert.Equal(t, newLease(newCluster(), place()).Labels, healed.Labels)
	assert.Equal(t, newLease(newCluster(), place()).Annotations, healed.Annotations)
}

// Whoever may make service accounts somewhere must not hold up the deletion of a Cluster by naming it.
func TestAForeignAccountDoesNotHoldUpADeletion(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted))
	foreign := account("mine")
	foreign.Namespace = "tenant"
	h.accounts.Add(foreign)

	require.NoError(t, h.look(t))

	assert.NotContains(t, h.clusters.Live(workspace, edge).Finalizers, names.ClusterFinalizer)
}

// A deletion that a broken watch missed names nobody; a leaving Cluster looks again by itself.
func TestALeavingClusterLooksAgain(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted))
	h.accounts.Add(account("one"))

	require.NoError(t, h.look(t))

	after, ordered := h.clusters.After(workspace, edge)
	require.True(t, ordered)
	assert.Equal(t, lookAgain, after)
}

func TestAClusterOfAnotherManagerIsLeftAlone(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "other"} }))

	require.NoError(t, h.look(t))

	assert.Empty(t, h.writes())
}

// Whoever may create a request for a cluster must not hold up its deletion by a finalizer on it.
func TestARequestThatAFinalizerKeepsHoldsUpNothing(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted))
	h.registrations.Add(request("held", func(r *fleet.ClusterRegistration) {
		r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: now}, []string{"attack.example/forever"}
	}))

	require.NoError(t, h.look(t))

	assert.NotContains(t, h.clusters.Live(workspace, edge).Finalizers, names.ClusterFinalizer)
	if held := h.registrations.Live(workspace, "held"); held != nil {
		assert.Empty(t, held.Finalizers)
	}
}

// An agent may write to its Lease; a finalizer there would keep the namespace, and with it the cluster's name.
func TestTheNamespaceIsNotKeptByItsLease(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.namespaces.Add(namespace(ownedBy(edgeUID)))
	require.NoError(t, h.look(t))
	lease := h.leases.Live(place(), names.HeartbeatLease).DeepCopy()
	lease.Finalizers = []string{"attack.example/forever"}
	h.leases.Add(lease)
	h.clusters.Add(newCluster(prepare, deleted))
	h.writes()

	require.NoError(t, h.look(t))

	writes := h.writes()
	require.GreaterOrEqual(t, len(writes), 2)
	assert.Equal(t, []string{"update Lease " + place() + "/fleet-agent", "delete Namespace " + place()}, writes[:2])
}
