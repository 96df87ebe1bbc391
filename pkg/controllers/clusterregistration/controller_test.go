package clusterregistration

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// alone is a hub with a person's token and the request of an agent that joins by itself.
func alone(t *testing.T, changes ...change[*fleet.ClusterRegistration]) *hub {
	t.Helper()
	h := newHub(t)
	h.tokens.Add(token(ofAPerson))
	h.accounts.Add(importAccount(token(ofAPerson)))
	h.registrations.Add(request(append([]change[*fleet.ClusterRegistration]{func(r *fleet.ClusterRegistration) {
		r.Labels[names.RegistrationTokenLabel] = "shared"
		r.Spec.Identity.Requester = userOf(token(ofAPerson))
	}}, changes...)...))
	return h
}

var newName = names.RegisteredCluster(client)

// The reference's cases "cluster missing & creation works", "cluster status has no namespace" and "agent-initiated with label".
func TestAnAgentThatJoinsByItselfIsGivenAClusterThenItsGrant(t *testing.T) {
	h := alone(t)

	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{"create Cluster fleet-default/" + newName}, h.writes(), "one write: nothing has to be added later")
	assert.False(t, h.live("request-1").Status.Granted)

	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes(), "a wait of milliseconds is not worth a write")
	after, _ := h.registrations.After(workspace, "request-1")
	assert.Equal(t, shortWait, after)

	c := h.clusters.Live(workspace, newName)
	ns := placeOf(string(c.UID))
	ns.Name, ns.Annotations[names.ClusterAnnotation] = names.ClusterNamespace(workspace, newName), newName
	h.namespaces.Add(ns)
	c.Status.Namespace = ns.Name
	_, err := h.clusters.UpdateStatus(c)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{applyGrant, mintToken, createSecret, noteRequest}, h.writes(), "the pin came with the Cluster")
	assert.True(t, h.live("request-1").Status.Granted)
}

func TestAWaitForTheNamespaceThatLastsIsTold(t *testing.T) {
	h := alone(t, func(r *fleet.ClusterRegistration) { r.CreationTimestamp = metav1.NewTime(now.Add(-shortWait)) })
	require.NoError(t, h.look(t, "request-1"))
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{noteRequest}, h.writes())
	_, reason, _ := condition(t, h.live("request-1"), fleet.RegistrationConditionGranted)
	assert.Equal(t, "WaitingForNamespace", reason)
	assert.Equal(t, newName, h.live("request-1").Status.ClusterName)
}

func TestAClusterThatCannotBeCreatedIsAnError(t *testing.T) {
	h := alone(t)
	h.fails["create Cluster fleet-default/"+newName] = errors.New("quota")
	require.ErrorContains(t, h.look(t, "request-1"), "quota")
}

// The event of another client's Cluster does not bring this request back, so that it has to come by itself.
func TestAClusterThatTheCacheHasNotSeenYetIsLookedAtAgain(t *testing.T) {
	h := alone(t)
	h.clusters.Lag = true
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Name, c.Spec.ClientID = newName, "client2" }))

	require.NoError(t, h.look(t, "request-1"))
	after, ordered := h.registrations.After(workspace, "request-1")
	require.True(t, ordered)
	assert.Equal(t, time.Second, after)

	h.clusters.Sync()
	require.NoError(t, h.look(t, "request-1"))
	_, reason, _ := condition(t, h.live("request-1"), fleet.RegistrationConditionGranted)
	assert.Equal(t, "ClusterNameTaken", reason)
}

func TestARefusalIsWrittenOnceAndTakesNothing(t *testing.T) {
	h := joining(t)
	h.clusters.Add(cluster(pinnedTo(otherKey, downUID)))

	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{noteRequest}, h.writes())
	r := h.live("request-1")
	assert.False(t, r.Status.Granted)
	value, reason, _ := condition(t, r, fleet.RegistrationConditionGranted)
	assert.Equal(t, corev1.ConditionFalse, value)
	assert.Equal(t, "IdentityConflict", reason)

	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())

	r.Status.Approval = &fleet.RegistrationApproval{Decision: "replace", By: "ann"}
	_, err := h.registrations.UpdateStatus(r)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, writePin, h.writes()[0])
	assert.True(t, h.live("request-1").Status.Granted)
}

// Revoking: bindings first, then the account, then the credential; it lasts, and takes nothing from others.
func TestARevokedClusterLosesWhatItWasGranted(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.secrets.Add(&corev1.Secret{ // the renewed credential of the same request
		ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "fleet-agent-credential", Annotations: map[string]string{names.OwnerAnnotation: owner(request())}},
		Type:       names.CredentialSecretType,
	})
	h.writes()
	c := h.clusters.Live(workspace, edge)
	c.Spec.Revoked = true
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	writes := h.writes()
	require.Len(t, writes, 4)
	assert.Equal(t, removeGrant, writes[0])
	assert.ElementsMatch(t, []string{deleteSecret, "delete Secret " + place + "/fleet-agent-credential"}, writes[1:3])
	assert.Equal(t, noteRequest, writes[3])
	r := h.live("request-1")
	assert.False(t, r.Status.Granted)
	for _, kind := range []string{fleet.RegistrationConditionGranted, fleet.RegistrationConditionCredentialReady} {
		value, reason, _ := condition(t, r, kind)
		assert.Equal(t, corev1.ConditionFalse, value)
		assert.Equal(t, "Revoked", reason)
	}
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())
}

func TestARequestThatIsGoneIsTakenBack(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.registrations.Remove(workspace, "request-1")
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{removeGrant, deleteSecret}, h.writes())
	assert.Nil(t, h.accounts.Live(hubNames().Agents, accountName))
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())
}

func TestTakingBackGoesOnAfterAFailure(t *testing.T) {
	for _, call := range []string{removeReport, removeGrant, deleteSecret} {
		h := joining(t)
		require.NoError(t, h.look(t, "request-1"))
		h.registrations.Remove(workspace, "request-1")
		h.fails[call] = errors.New("no")
		require.ErrorContains(t, h.look(t, "request-1"), "no", call)
		delete(h.fails, call)
		require.NoError(t, h.look(t, "request-1"))
		assert.Nil(t, h.credential())
		assert.Empty(t, h.granted.has)
		assert.Empty(t, h.reported.has)
	}
}

// What is older goes when the newer credential is used, and not before.
func TestOlderRequestsGoOnlyOnceTheNewCredentialIsInUse(t *testing.T) {
	at := func(d time.Duration) change[*fleet.ClusterRegistration] {
		return func(r *fleet.ClusterRegistration) { r.CreationTimestamp = metav1.NewTime(now.Add(d)) }
	}
	h := joining(t)
	h.registrations.Add(
		request(named("request-older"), granted, used, at(-time.Hour)),
		request(named("request-refused"), at(-time.Minute)),
		request(named("request-newer"), granted, at(time.Minute)),
		request(named("request-other-client"), granted, at(-time.Hour), func(r *fleet.ClusterRegistration) { r.Spec.ClientID = "client2" }),
		request(named("request-other-cluster"), granted, at(-time.Hour), func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "other" }),
		request(named("request-elsewhere"), granted, at(-time.Hour), func(r *fleet.ClusterRegistration) { r.Namespace = "other" }),
	)
	require.NoError(t, h.look(t, "request-1"))
	require.True(t, h.live("request-1").Status.Granted)
	assert.Equal(t, 7, h.registrations.Len(), "until it is used nothing is taken")
	h.writes()

	r := h.live("request-1")
	registration.MarkUsed(&r.Status, r.Status.Credentials[0], now)
	_, err := h.registrations.UpdateStatus(r)
	require.NoError(t, err)
	h.writes()
	require.NoError(t, h.look(t, "request-1"))

	writes := h.writes()
	require.Len(t, writes, 3, "the heartbeat has said all of it in the status")
	assert.Equal(t, deleteSecret, writes[0])
	assert.ElementsMatch(t, []string{
		"delete ClusterRegistration fleet-default/request-older", "delete ClusterRegistration fleet-default/request-refused",
	}, writes[1:])
	_, reason, _ := condition(t, h.live("request-1"), fleet.RegistrationConditionCredentialReady)
	assert.Equal(t, "InUse", reason)
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())
	assert.Len(t, h.minted, 1, "a credential in use is not made anew here")
}

// A grant in use is repaired like any other desired state, though its token ended long ago.
func TestAGrantInUseIsRepaired(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	r := h.live("request-1")
	used(r)
	_, err := h.registrations.UpdateStatus(r)
	require.NoError(t, err)
	require.NoError(t, h.look(t, "request-1"))
	h.tokens.Remove(workspace, "import-token-edge")
	h.accounts.Remove(hubNames().Registration, importAccount(token()).Name)
	h.accounts.Remove(hubNames().Agents, accountName)
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{applyGrant}, h.writes())
	assert.NotNil(t, h.accounts.Live(hubNames().Agents, accountName))
}

// The reference's case "already granted: does nothing", for what an earlier hub granted: to apply our set would take the
// account away that its agent uses.
func TestTheGrantOfAnEarlierHubIsLeftAsItIs(t *testing.T) {
	h := joining(t, granted, func(r *fleet.ClusterRegistration) { r.Status.Conditions = nil })
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())
}

func TestAFailedReadIsAnErrorAndTakesNothing(t *testing.T) {
	h := joining(t, granted)
	h.clusters.Remove(workspace, edge)
	h.fails["get Cluster fleet-default/edge"] = errors.New("out")
	require.ErrorContains(t, h.look(t, "request-1"), requestKey)
	assert.Empty(t, h.writes())
}

func TestAnAgentOffersThePinOfItsKey(t *testing.T) {
	want, err := registration.Fingerprint(agentKey.PublicKey())
	require.NoError(t, err)
	assert.Equal(t, want, offeredPin(request()).Fingerprint)
	assert.Nil(t, offeredPin(request(keyless)))
	assert.Nil(t, offeredPin(request(func(r *fleet.ClusterRegistration) { r.Spec.Identity.PublicKey = "x" })))
}
