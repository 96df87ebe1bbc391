package cluster

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func TestANewClusterIsGivenItsPlaceAndThenLeftInPeace(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster())

	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"update Cluster fleet-default/edge"}, h.writes(), "a status on top of the update would meet a conflict")

	require.NoError(t, h.look(t))
	assert.Equal(t, []string{
		"create Namespace " + place(),
		"create Lease " + place() + "/fleet-agent",
		"updateStatus Cluster fleet-default/edge",
	}, h.writes())
	c := h.clusters.Live(workspace, edge)
	assert.Len(t, c.Spec.ClientID, 54)
	assert.Equal(t, place(), c.Status.Namespace)
	assert.Equal(t, "WaitCheckIn", c.Status.Display.State)
	assert.True(t, conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionProcessed))
	for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected} {
		condition := conditions.GetCondition(c.Status.Conditions, kind)
		require.NotNil(t, condition, kind)
		assert.Equal(t, corev1.ConditionFalse, condition.Status)
		assert.Equal(t, "WaitingForAgent", condition.Reason)
	}

	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "nothing changed, nothing is written")
}

// An agent's registration makes the Cluster complete, so that it costs no write more.
func TestAClusterThatCameCompleteIsNotWrittenOnce(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))

	require.NoError(t, h.look(t))

	assert.Equal(t, "create Namespace "+place(), h.writes()[0])
}

func TestWhatWasLostIsMadeAnew(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	require.NoError(t, h.look(t))
	h.writes()

	h.leases.Remove(place(), names.HeartbeatLease)
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"create Lease " + place() + "/fleet-agent"}, h.writes())

	h.namespaces.Remove("", place())
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"create Namespace " + place()}, h.writes())
}

func TestWhatTheCacheHasNotSeenYetIsNoFailure(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.namespaces.Lag, h.leases.Lag = true, true
	require.NoError(t, h.look(t))

	require.NoError(t, h.look(t))

	assert.Equal(t, 1, h.namespaces.Len())
	assert.Equal(t, 1, h.leases.Len())
}

func TestThePlaceIsWaitedForAndTheReasonShown(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.namespaces.Add(namespace(ownedBy("uid-of-an-earlier-edge")))

	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"updateStatus Cluster fleet-default/edge"}, h.writes(), "nothing is put into another's namespace")
	c := h.clusters.Live(workspace, edge)
	assert.Empty(t, c.Status.Namespace, "nobody may go on with it")
	processed := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionProcessed)
	require.NotNil(t, processed)
	assert.Equal(t, "NamespaceBlocked", processed.Reason)
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes())

	h.namespaces.Remove("", place())
	require.NoError(t, h.look(t))
	assert.Equal(t, place(), h.clusters.Live(workspace, edge).Status.Namespace)
}

func TestTheDisplayAwaitsTheFirstCheckInAndLeavesOtherStatesAlone(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	require.NoError(t, h.look(t))
	assert.Equal(t, "WaitCheckIn", h.clusters.Live(workspace, edge).Status.Display.State)

	c := h.clusters.Live(workspace, edge)
	c.Status.Display.State = "NotReady"
	_, err := h.clusters.UpdateStatus(c)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "the state of the bundles is not ours")
}

// A01: any error at any step is returned, nothing panics, and the next look goes on.
func TestAnyFailureIsReturnedAndMadeGoodLater(t *testing.T) {
	for _, call := range []string{
		"update Cluster fleet-default/edge", "create Namespace " + place(), "create Lease " + place() + "/fleet-agent", "updateStatus Cluster fleet-default/edge",
	} {
		t.Run(call, func(t *testing.T) {
			h := newHub(t)
			h.clusters.Add(newCluster())
			h.fails[call] = errors.New("no")
			var err error
			for range 3 {
				if err = h.look(t); err != nil {
					break
				}
			}
			require.ErrorContains(t, err, "no")

			delete(h.fails, call)
			for range 3 {
				require.NoError(t, h.look(t))
			}
			assert.Equal(t, place(), h.clusters.Live(workspace, edge).Status.Namespace)
		})
	}
}

func TestNothingIsDoneForAClusterThatIsGone(t *testing.T) {
	h := newHub(t)
	got, err := h.onChange(workspace+"/"+edge, nil)
	require.NoError(t, err)
	assert.Nil(t, got)
	assert.Empty(t, h.writes())
}

func TestAHeldLeaseIsLeftAlone(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	holder := "agent/-/0123456789abcdef"
	h.leases.Add(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: place(), Name: names.HeartbeatLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
	})
	require.NoError(t, h.look(t))
	assert.NotContains(t, h.writes(), "create Lease "+place()+"/fleet-agent")
}
