package clusterregistration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const deleteRequest = "delete ClusterRegistration " + requestKey

var long = ago(48 * time.Hour)

func TestARequestThatLedToNothingIsCollectedAndUntilThenOneTimerWaits(t *testing.T) {
	h := joining(t, created(ago(time.Hour)), refusedFor("TokenUnknown", ago(time.Hour)))
	h.tokens.Remove(workspace, "import-token-edge")
	require.NoError(t, h.look(t, "request-1"))
	require.NotNil(t, h.live("request-1"))
	after, ordered := h.registrations.After(workspace, "request-1")
	require.True(t, ordered)
	assert.Equal(t, 23*time.Hour, after, "what is left of the default")

	h.registrations.Add(request(created(long), refusedFor("TokenUnknown", long)))
	h.writes()
	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{deleteRequest}, h.writes())
	assert.Nil(t, h.live("request-1"))
}

// Somebody approves it in the moment in which it is collected: the approval is the newer word.
func TestARequestIsCollectedOnlyAsItWasJudged(t *testing.T) {
	h := joining(t, created(long), refusedFor("IdentityConflict", long))
	h.clusters.Add(cluster(pinnedTo(otherKey, downUID)))
	h.registrations.Lag = true
	approved := h.live("request-1")
	approved.Status.Approval = &fleet.RegistrationApproval{Decision: "replace", By: "ann"}
	_, err := h.registrations.UpdateStatus(approved)
	require.NoError(t, err)

	require.NoError(t, h.look(t, "request-1"))
	require.NotNil(t, h.live("request-1"))

	h.registrations.Sync()
	require.NoError(t, h.look(t, "request-1"))
	assert.True(t, h.live("request-1").Status.Granted)
	pin, err := registration.PinOf(h.clusters.Live(workspace, edge).Annotations)
	require.NoError(t, err)
	assert.Equal(t, registration.Pin{Fingerprint: agentKey.Fingerprint(), ClusterUID: downUID, ApprovedBy: "ann", Request: "request-1"}, *pin, "who approved it outlives the request")
}

func TestACollectionThatFailsIsTriedAgain(t *testing.T) {
	h := joining(t, created(long), refusedFor("TokenUnknown", long))
	h.tokens.Remove(workspace, "import-token-edge")
	h.fails[deleteRequest] = errors.New("out")
	require.ErrorContains(t, h.look(t, "request-1"), "registration.ttlUngranted")
}

// The account of the token ended before the agent came for its credential, long ago.
func neverTaken(t *testing.T) *hub {
	t.Helper()
	h := joining(t, created(long))
	require.NoError(t, h.look(t, "request-1"))
	h.tokens.Remove(workspace, "import-token-edge")
	h.accounts.Remove(hubNames().Registration, importAccount(token()).Name)
	require.NoError(t, h.look(t, "request-1"))
	r := h.live("request-1")
	conditions.SetCondition(&r.Status.Conditions, fleet.RegistrationConditionCredentialReady, metav1.ConditionFalse, "ImportAccountGone", "", long)
	_, err := h.registrations.UpdateStatus(r)
	require.NoError(t, err)
	h.writes()
	return h
}

func TestAGrantThatNobodyTookGoesWithItsAccountAndPermissions(t *testing.T) {
	h := neverTaken(t)
	require.NotNil(t, h.accounts.Live(hubNames().Agents, accountName))

	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{deleteRequest}, h.writes())

	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{removeGrant}, h.writes())
	assert.Nil(t, h.accounts.Live(hubNames().Agents, accountName))
	assert.NotNil(t, h.clusters.Live(workspace, edge))
}

func TestAGrantThatAnAgentUsesOrCanStillTakeStays(t *testing.T) {
	beat := func(h *hub, digest string) {
		holder := registration.Holder{Instance: "pod", Fingerprint: agentKey.Fingerprint(), Digest: digest}.String()
		_, err := h.Clients.CoordinationV1().Leases(place).Create(context.Background(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: names.HeartbeatLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for name, test := range map[string]struct {
		change func(*hub)
		stays  bool
	}{
		"its credential is in use, which is not noted yet": {func(h *hub) { beat(h, registration.Digest(h.minted[0])) }, true},
		"another credential is in use":                     {func(h *hub) { beat(h, "0123456789abcdef") }, false},
		"an agent that names none was seen": {func(h *hub) {
			r := h.live("request-1")
			r.Spec.Identity = nil
			h.registrations.Add(r)
			h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(now.Add(time.Minute)) }))
		}, true},
		"an agent that names none was seen before": {func(h *hub) {
			r := h.live("request-1")
			r.Spec.Identity = nil
			h.registrations.Add(r)
			h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(ago(time.Hour)) }))
		}, false},
		"only the cache misses token and account": {func(h *hub) {
			h.tokens.Add(token())
			h.accounts.Add(importAccount(token()))
			h.tokens.Hide(workspace, "import-token-edge")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := neverTaken(t)
			test.change(h)
			require.NoError(t, h.look(t, "request-1"))
			assert.Equal(t, test.stays, h.live("request-1") != nil)
			assert.NotContains(t, h.writes(), removeGrant)
		})
	}
}

// To ask again is no way round a denial, and neither is to wait until the denied request is collected.
func TestADenialHoldsForTheSameKeyUntilItIsTakenBack(t *testing.T) {
	h := joining(t, created(long), refusedFor("Denied", long), decidedBy("deny"))
	h.registrations.Add(request(named("request-2")))

	require.NoError(t, h.look(t, "request-1"))
	require.NotNil(t, h.live("request-1"), "without it the agent would be let in")
	require.NoError(t, h.look(t, "request-2"))
	_, reason, message := condition(t, h.live("request-2"), fleet.RegistrationConditionGranted)
	assert.Equal(t, "IdentityDenied", reason)
	assert.Contains(t, message, "another request of the same client")
	assert.Contains(t, message, "`fleet registration approve request-2 -n fleet-default`")

	h.registrations.Add(request(named("request-3"), withKey(otherKey, downUID), func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "another" }))
	require.NoError(t, h.look(t, "request-3"))
	assert.True(t, h.live("request-3").Status.Granted, "another key is another agent")

	h.registrations.Remove(workspace, "request-3")
	h.clusters.Add(cluster())
	again := h.live("request-2")
	again.Status.Approval = &fleet.RegistrationApproval{Decision: "approve"}
	_, err := h.registrations.UpdateStatus(again)
	require.NoError(t, err)
	require.NoError(t, h.look(t, "request-2"))
	assert.True(t, h.live("request-2").Status.Granted)
}

// That the cache misses its token does not end a denial: the agent would be let in again.
func TestADenialIsNotForgottenOnACacheMiss(t *testing.T) {
	h := joining(t, created(long), refusedFor("Denied", long), decidedBy("deny"))
	h.tokens.Hide(workspace, "import-token-edge")
	require.NoError(t, h.look(t, "request-1"))
	require.NotNil(t, h.live("request-1"))

	h.tokens.Remove(workspace, "import-token-edge")
	h.registrations.Add(request(created(long), refusedFor("Denied", long), decidedBy("deny")))
	require.NoError(t, h.look(t, "request-1"))
	assert.Nil(t, h.live("request-1"))
}

func TestAShorterTimeToLiveCountsForWhatIsThere(t *testing.T) {
	h := joining(t, created(ago(time.Hour)), granted, untaken(ago(time.Hour)))
	require.NoError(t, h.onConfig(context.Background(), h.source.Get()))
	after, ordered := h.registrations.After(workspace, "request-1")
	require.True(t, ordered)
	assert.Zero(t, after)
}
