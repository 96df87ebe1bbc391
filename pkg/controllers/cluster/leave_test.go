package cluster

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// leavingHub has a Cluster that is being deleted, with all that can belong to one.
func leavingHub(t *testing.T) *hub {
	t.Helper()
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted, func(c *fleet.Cluster) { c.Finalizers = append(c.Finalizers, "other/finalizer") }))
	h.registrations.Add(request("request-1"))
	h.accounts.Add(account("request-1-account"))
	h.namespaces.Add(namespace(ownedBy(edgeUID)))
	owner := []metav1.OwnerReference{{Kind: "Cluster", Name: edge, UID: edgeUID}}
	h.bundles.Add(&fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge", OwnerReferences: owner}})
	h.tokens.Add(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "import-token-edge", OwnerReferences: owner}})
	return h
}

func (h *hub) processed(t *testing.T) (reason, message string) {
	t.Helper()
	condition := conditions.GetCondition(h.clusters.Live(workspace, edge).Status.Conditions, fleet.ClusterConditionProcessed)
	require.NotNil(t, condition)
	return condition.Reason, condition.Message
}

// E03, E04, E06: requests go first, then their accounts, then everything else; nothing asks the downstream cluster.
func TestAClusterLeavesStepByStep(t *testing.T) {
	h := leavingHub(t)

	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"delete ClusterRegistration fleet-default/request-1", "updateStatus Cluster fleet-default/edge"}, h.writes())
	reason, message := h.processed(t)
	assert.Equal(t, "Leaving", reason)
	assert.Contains(t, message, "registration requests")

	// The request is gone; its controller has not taken the account away yet.
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"updateStatus Cluster fleet-default/edge"}, h.writes())
	_, message = h.processed(t)
	assert.Contains(t, message, "accounts")
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "waiting writes nothing")

	h.accounts.Remove(hubNames().Agents, "request-1-account")
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{
		"delete Bundle fleet-default/fleet-agent-edge",
		"delete ClusterRegistrationToken fleet-default/import-token-edge",
		"delete Namespace " + place(),
		"update Cluster fleet-default/edge",
	}, h.writes())
	assert.Equal(t, []string{"other/finalizer"}, h.clusters.Live(workspace, edge).Finalizers)

	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "without our finalizer the rest is not ours")
}

func TestALeavingClusterGetsNothingNew(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(deleted))
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes())
}

// An old copy of a deleted Cluster must not take what the one that was made after it has.
func TestAnOldCopyTakesNothingFromItsSuccessor(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, deleted))
	h.clusters.Lag = true
	h.clusters.Remove(workspace, edge)
	_, err := h.clusters.Create(newCluster(prepare))
	require.NoError(t, err)
	successor := h.clusters.Live(workspace, edge)
	h.namespaces.Add(namespace(ownedBy(string(successor.UID))))
	owner := []metav1.OwnerReference{{Kind: "Cluster", Name: edge, UID: successor.UID}}
	h.bundles.Add(&fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge", OwnerReferences: owner}})
	h.tokens.Add(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "import-token-edge", OwnerReferences: owner}})
	h.writes()

	assert.Error(t, h.look(t), "its finalizer cannot be dropped any more")

	assert.Equal(t, []string{"update Cluster fleet-default/edge"}, h.writes())
	assert.Equal(t, 1, h.namespaces.Len())
	assert.Equal(t, 1, h.bundles.Len())
	assert.Equal(t, 1, h.tokens.Len())
	assert.Equal(t, []string{names.ClusterFinalizer}, h.clusters.Live(workspace, edge).Finalizers)
}

// R23: it can end after any step, and the next look goes on from there.
func TestLeavingGoesOnAfterAnyFailure(t *testing.T) {
	for _, call := range []string{
		"delete ClusterRegistration fleet-default/request-1", "get Namespace " + place(), "get Bundle fleet-default/fleet-agent-edge",
		"get ClusterRegistrationToken fleet-default/import-token-edge", "delete Bundle fleet-default/fleet-agent-edge",
		"delete ClusterRegistrationToken fleet-default/import-token-edge", "delete Namespace " + place(), "update Cluster fleet-default/edge",
	} {
		t.Run(call, func(t *testing.T) {
			h := leavingHub(t)
			h.accounts.Remove(hubNames().Agents, "request-1-account")
			h.fails[call] = errors.New("no")
			var err error
			for range 3 {
				if err = h.look(t); err != nil {
					break
				}
			}
			require.ErrorContains(t, err, "no")
			assert.ErrorContains(t, err, "fleet-default/edge")
			assert.Contains(t, h.clusters.Live(workspace, edge).Finalizers, names.ClusterFinalizer)

			delete(h.fails, call)
			for range 3 {
				require.NoError(t, h.look(t))
			}
			assert.NotContains(t, h.clusters.Live(workspace, edge).Finalizers, names.ClusterFinalizer)
			assert.Zero(t, h.namespaces.Len())
		})
	}
}
