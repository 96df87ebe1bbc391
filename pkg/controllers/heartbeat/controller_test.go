package heartbeat

import (
	"errors"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

// joined is a hub with a cluster whose agent has just been granted credential "a" and has not used it yet.
func joined(t *testing.T) (*hub, *fleet.ClusterRegistration) {
	t.Helper()
	h := newHub(t)
	r := granted("request-1", began, record("a", began))
	h.clusters.Add(newCluster())
	h.registrations.Add(r)
	h.account(r, accountOf)
	h.leases.Add(newLease())
	require.NoError(t, h.look(t))
	require.Empty(t, h.writes(), "nobody has used the Lease yet")
	return h, r
}

func (h *hub) cluster() *fleet.Cluster { return h.clusters.Live(workspace, edge) }

func TestTheFirstHeartbeatRegistersTheCluster(t *testing.T) {
	h, _ := joined(t)

	h.beat(t, time.Second, "a")

	assert.Equal(t, []string{"updateStatus ClusterRegistration fleet-default/request-1", "updateStatus Cluster fleet-default/edge"}, h.writes())
	r := h.registrations.Live(workspace, "request-1")
	assert.True(t, conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed))
	assert.True(t, r.Status.Credentials[0].Used)
	for _, kind := range []string{fleet.ClusterConditionAgentConnected, fleet.ClusterConditionRegistered, fleet.ClusterConditionCredentialValid} {
		assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, kind), kind)
	}
}

// N: no handler does work for a heartbeat.
func TestAHeartbeatThatChangesNothingCostsNothing(t *testing.T) {
	h, _ := joined(t)
	h.beat(t, time.Second, "a")
	h.writes()
	h.registrations.Fail = func(verb, key string) error {
		t.Errorf("%s %s", verb, key)
		return nil
	}
	for range 100 {
		h.beat(t, time.Minute, "a")
	}
	assert.Empty(t, h.writes())
}

func TestSilenceShowsAtTheEndOfTheGraceAndEndsWithTheNextHeartbeat(t *testing.T) {
	h, _ := joined(t)
	h.beat(t, time.Second, "a")
	after, ordered := h.leases.After(place, names.HeartbeatLease)
	require.True(t, ordered)
	assert.Equal(t, 3*time.Minute+time.Second, after, "a look is ordered for then")
	h.writes()

	h.clock.SetTime(h.clock.Now().Add(after))
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"updateStatus Cluster fleet-default/edge"}, h.writes())
	_, reason, _ := statusOf(t, h.cluster().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "Silent", reason)
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes())

	h.beat(t, time.Hour, "a")
	assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionAgentConnected))
}

func TestAHubThatStartsSaysNothingUntilItKnows(t *testing.T) {
	h, _ := joined(t)
	h.beat(t, time.Second, "a")
	h.writes()
	h.handler = newHandler(t.Context(), h.Deps)
	h.clock.SetTime(h.clock.Now().Add(time.Hour))
	h.handler.tracker = newTracker(h.clock.Now(), nil)

	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "unknown is not silent")
	after, _ := h.leases.After(place, names.HeartbeatLease)
	assert.Equal(t, 3*time.Minute+time.Second, after)

	h.clock.SetTime(h.clock.Now().Add(after))
	require.NoError(t, h.look(t))
	assert.Equal(t, []string{"updateStatus Cluster fleet-default/edge"}, h.writes())
}

func TestTheAgentsOwnIntervalCountsWithinBounds(t *testing.T) {
	h := newHub(t)
	lease := newLease()
	for seconds, want := range map[int32]time.Duration{10: 30 * time.Second, 3600: 3 * time.Hour, 3601: 3 * time.Minute, 0: 3 * time.Minute, -5: 3 * time.Minute} {
		lease.Spec.LeaseDurationSeconds = &seconds
		assert.Equal(t, want, h.grace(lease), "%d", seconds)
	}
	lease.Spec.LeaseDurationSeconds = nil
	assert.Equal(t, 3*time.Minute, h.grace(lease))
}

func TestAGrantThatIsSeenAfterTheHeartbeatIsJudgedThen(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster())
	h.leases.Add(newLease())
	require.NoError(t, h.look(t))
	h.beat(t, time.Second, "a")
	assert.Nil(t, conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionRegistered))

	r := granted("request-1", began, record("a", began))
	h.registrations.Add(r)
	keys, err := h.leaseOfRequest(workspace, r.Name, r)
	require.NoError(t, err)
	assert.Equal(t, []relatedresource.Key{{Namespace: place, Name: names.HeartbeatLease}}, keys)
	require.NoError(t, h.look(t))

	assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionRegistered))
}

// R01: the account of the credential is deleted on the hub, and made anew by the grant.
func TestACredentialWhoseAccountDiedIsSaidToBeInvalid(t *testing.T) {
	h, r := joined(t)
	h.beat(t, time.Second, "a")
	name := names.Account(r.Name, string(r.UID))
	h.accounts.Remove(hubNames().Agents, name)
	h.account(r, "uid-of-the-second-account")
	account, err := h.accounts.Cache().Get(hubNames().Agents, name)
	require.NoError(t, err)
	account = account.DeepCopy()
	account.Annotations = map[string]string{
		names.ClusterRegistrationAnnotation: r.Name, names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge,
	}
	keys, err := h.leaseOfAccount("", "", account)
	require.NoError(t, err)
	require.Len(t, keys, 1)

	require.NoError(t, h.look(t))

	value, reason, _ := statusOf(t, h.cluster().Status, fleet.ClusterConditionCredentialValid)
	assert.Equal(t, corev1.ConditionFalse, value)
	assert.Equal(t, "AccountReplaced", reason)
}

// An agent of the reference beats by its status alone. That it was seen before its new request was granted must not pass
// for the use of that grant, or the credential would be gone before the agent fetched it.
func TestAnAgentWithoutALeaseIsJudgedByItsCheckIns(t *testing.T) {
	h := newHub(t)
	h.leases.Add(newLease())
	c := newCluster()
	c.Status.Agent.LastSeen = metav1.NewTime(began.Add(-10 * time.Minute))
	h.clusters.Add(c)
	require.NoError(t, h.look(t))
	checkIn := func(after time.Duration) {
		h.clock.SetTime(h.clock.Now().Add(after))
		live := h.cluster()
		live.Status.Agent.LastSeen = metav1.NewTime(h.clock.Now())
		_, err := h.clusters.UpdateStatus(live)
		require.NoError(t, err)
		keys, err := h.leaseOfCheckin("", "", live)
		require.NoError(t, err)
		require.Len(t, keys, 1)
		require.NoError(t, h.look(t))
	}
	checkIn(time.Minute)
	assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionAgentConnected))

	h.clock.SetTime(h.clock.Now().Add(time.Minute))
	r := granted("request-1", h.clock.Now(), record("a", h.clock.Now()))
	r.Spec.Identity = nil
	h.registrations.Add(r)
	_, err := h.leaseOfRequest(workspace, r.Name, r)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t))
	assert.Empty(t, h.writes(), "the agent has not fetched it yet")

	checkIn(time.Minute)
	assert.True(t, conditions.IsTrue(h.registrations.Live(workspace, r.Name).Status.Conditions, fleet.RegistrationConditionCredentialUsed))
	assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionRegistered))
	after, _ := h.leases.After(place, names.HeartbeatLease)
	assert.Equal(t, 45*time.Minute+time.Second, after, "three check-ins")
}

func TestALeaseIsJudgedForTheClusterThatItWasMadeFor(t *testing.T) {
	h := newHub(t)
	h.leases.Add(newLease())
	// Its agent says in its status that it lives in the other's namespace.
	thief := newCluster()
	thief.Name, thief.UID = "a-thief", "uid-of-thief"
	h.clusters.Add(thief)
	h.beat(t, time.Second, "a")
	assert.Empty(t, h.writes())

	h.clusters.Add(newCluster())
	h.beat(t, time.Minute, "a")
	h.beat(t, time.Minute, "a")
	assert.Equal(t, []string{"updateStatus Cluster fleet-default/edge"}, h.writes())
	assert.Empty(t, h.clusters.Live(workspace, "a-thief").Status.Conditions)
}

func TestOtherLeasesAndClustersThatLeaveAreNoneOfOurs(t *testing.T) {
	h := newHub(t)
	other := newLease()
	other.Name = "other"
	_, err := h.onLease(place+"/other", other)
	require.NoError(t, err)

	c := newCluster()
	c.DeletionTimestamp = &metav1.Time{Time: began}
	h.clusters.Add(c)
	h.leases.Add(newLease())
	h.beat(t, time.Second, "a")

	assert.Empty(t, h.writes())
	assert.Empty(t, h.tracker.entries)
}

func TestALeaseThatIsGoneIsForgotten(t *testing.T) {
	h, _ := joined(t)
	h.beat(t, time.Second, "a")
	_, err := h.onLease(place+"/"+names.HeartbeatLease, nil)
	require.NoError(t, err)
	assert.Empty(t, h.tracker.entries)
}

// A01: what failed is judged again at the next look, not lost.
func TestAFailedWriteIsMadeGood(t *testing.T) {
	for _, call := range []string{"updateStatus ClusterRegistration fleet-default/request-1", "updateStatus Cluster fleet-default/edge"} {
		t.Run(call, func(t *testing.T) {
			h, _ := joined(t)
			h.fails[call] = errors.New("no")
			h.clock.SetTime(began.Add(time.Second))
			h.renew(t, "a")
			require.ErrorContains(t, h.look(t), "no")

			delete(h.fails, call)
			require.NoError(t, h.look(t))

			assert.True(t, conditions.IsTrue(h.registrations.Live(workspace, "request-1").Status.Conditions, fleet.RegistrationConditionCredentialUsed))
			assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionRegistered))
		})
	}
}

func TestWatchesLeadToTheLease(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster())
	nowhere := newCluster()
	nowhere.Name, nowhere.Status.Namespace = "new", ""
	h.clusters.Add(nowhere)
	unmatched := granted("request-1", began)
	unmatched.Status.ClusterName = ""
	ofNew := granted("request-1", began)
	ofNew.Status.ClusterName = "new"
	ofGone := granted("request-1", began)
	ofGone.Status.ClusterName = "gone"
	seen := newCluster()
	seen.Status.Agent.LastSeen = metav1.NewTime(began)
	newer := seen.DeepCopy()
	newer.Status.Agent.Version = "v1"
	for name, test := range map[string]struct {
		resolve relatedresource.Resolver
		obj     runtime.Object
		want    int
	}{
		"a matched request":           {h.leaseOfRequest, granted("request-1", began), 1},
		"an unmatched one":            {h.leaseOfRequest, unmatched, 0},
		"one of a new cluster":        {h.leaseOfRequest, ofNew, 0},
		"one of a cluster gone":       {h.leaseOfRequest, ofGone, 0},
		"a deleted request":           {h.leaseOfRequest, nil, 0},
		"a foreign account":           {h.leaseOfAccount, &corev1.ServiceAccount{}, 0},
		"a deleted account":           {h.leaseOfAccount, nil, 0},
		"a cluster never seen":        {h.leaseOfCheckin, newCluster(), 0},
		"a cluster seen":              {h.leaseOfCheckin, seen, 1},
		"one with an agent of ours":   {h.leaseOfCheckin, newer, 0},
		"a cluster that was deleted":  {h.leaseOfCheckin, nil, 0},
		"something else where it was": {h.leaseOfCheckin, &corev1.Secret{}, 0},
	} {
		keys, err := test.resolve(workspace, "x", test.obj)
		require.NoError(t, err, name)
		assert.Len(t, keys, test.want, name)
	}
}
