package clusterregistration

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	requestKey   = "fleet-default/request-1"
	applyGrant   = "apply grant " + requestKey
	removeGrant  = "remove grant " + requestKey
	applyReport  = "apply report " + requestKey
	removeReport = "remove report " + requestKey
	mintToken    = "create token of cattle-fleet-agents-system/request-1-uid-of-request-1"
	noteRequest  = "updateStatus ClusterRegistration " + requestKey
	writePin     = "update Cluster fleet-default/edge"
)

var (
	credentialName    = names.CredentialSecret(client, "random")
	createSecret      = "create Secret cattle-fleet-clusters-system/" + credentialName
	updateSecret      = "update Secret cattle-fleet-clusters-system/" + credentialName
	deleteSecret      = "delete Secret cattle-fleet-clusters-system/" + credentialName
	accountName       = "request-1-uid-of-request-1"
	importAccountName = importAccount(token()).Name
)

func (h *hub) credential() *corev1.Secret {
	return h.secrets.Live(hubNames().Registration, credentialName)
}

func condition(t *testing.T, r *fleet.ClusterRegistration, kind string) (corev1.ConditionStatus, string, string) {
	t.Helper()
	c := conditions.GetCondition(r.Status.Conditions, kind)
	if c == nil {
		return "", "", ""
	}
	return c.Status, c.Reason, c.Message
}

// The reference's cases "import token exists" and "agent-initiated with label": account, rights, then the secret. Access to
// it follows from the secret, see package credentialaccess.
func TestARequestIsGrantedInOrderAndThenLeftInPeace(t *testing.T) {
	h := joining(t)

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{writePin, applyGrant, mintToken, createSecret, noteRequest}, h.writes(),
		"the pin before the grant, the account before its credential")
	assert.Equal(t, []string{applyReport}, h.reportCalls)
	assert.Equal(t, importAccountName, h.credential().Annotations[names.ImportAccountAnnotation], "who may read it")
	r := h.live("request-1")
	assert.True(t, r.Status.Granted)
	assert.Equal(t, edge, r.Status.ClusterName)
	assert.True(t, conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionGranted))
	_, reason, message := condition(t, r, fleet.RegistrationConditionCredentialReady)
	assert.Equal(t, "Ready", reason)
	assert.Contains(t, message, "2026-05-30T12:00:00Z")
	require.Len(t, r.Status.Credentials, 1)
	assert.Equal(t, registration.Digest(h.minted[0]), r.Status.Credentials[0].Digest)
	pin, err := registration.PinOf(h.clusters.Live(workspace, edge).Annotations)
	require.NoError(t, err)
	assert.Equal(t, agentKey.Fingerprint(), pin.Fingerprint)

	require.NoError(t, h.look(t, "request-1"))
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes(), "nothing changed, nothing is written")
	assert.Len(t, h.minted, 1)
}

func TestOnlyTheAgentThatAskedCanOpenTheCredential(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))

	secret := h.credential()
	require.NotNil(t, secret)
	assert.Equal(t, corev1.SecretType("fleet.cattle.io/agent-credential"), secret.Type)
	assert.Equal(t, map[string]string{"fleet.cattle.io/managed": "true", "fleet.cattle.io/cluster": edge}, secret.Labels)
	c, err := registration.ParseCredential(secret.Data)
	require.NoError(t, err)
	assert.Empty(t, c.Token, "no token in clear")
	assert.Equal(t, registration.Credential{
		SealedToken: c.SealedToken, HubUID: hubUID, DeploymentNamespace: place, ClusterNamespace: workspace, ClusterName: edge,
		SystemNamespace: names.DefaultSystemNamespace,
	}, c)
	known := registration.Binding{
		HubUID: c.HubUID, Workspace: workspace, Request: "request-1", ClientID: client, ClientRandom: "random",
		ClusterUID: downUID, PublicKey: agentKey.PublicKey(), ImportAccountUID: importUID,
	}
	opened, err := agentKey.Open(known, c.SealedToken)
	require.NoError(t, err)
	assert.Equal(t, h.minted[0], opened)
	_, err = otherKey.Open(known, c.SealedToken)
	assert.ErrorIs(t, err, registration.ErrNotForUs)
}

func TestAnAgentWithoutAKeyGetsItsTokenAsTheWireSays(t *testing.T) {
	h := joining(t, keyless)
	require.NoError(t, h.look(t, "request-1"))
	assert.NotContains(t, h.writes(), writePin)
	assert.Equal(t, map[string][]byte{
		"token": []byte(h.minted[0]), "deploymentNamespace": []byte(place), "clusterNamespace": []byte(workspace),
		"clusterName": []byte(edge), "systemNamespace": []byte("cattle-fleet-system"),
	}, h.credential().Data)
}

func TestTheLifeOfACredentialFollowsTheWayOfJoining(t *testing.T) {
	for secretName, days := range map[string]int{"kubeconfig": 90, "": 365} {
		h := joining(t)
		h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Spec.KubeConfigSecret = secretName }))
		require.NoError(t, h.look(t, "request-1"))
		assert.True(t, h.live("request-1").Status.Credentials[0].Expires.Time.Equal(now.AddDate(0, 0, days)), "%q", secretName)
	}
}

// R23: the hub may end after any write; the next one goes on, with the same credential once there is one.
func TestAGrantThatWasInterruptedGoesOn(t *testing.T) {
	for _, call := range []string{writePin, applyGrant, applyReport, mintToken, createSecret, noteRequest} {
		t.Run(call, func(t *testing.T) {
			h := joining(t)
			h.fails[call] = errors.New("the hub ends here")
			require.ErrorContains(t, h.look(t, "request-1"), "the hub ends here")
			assert.False(t, h.live("request-1").Status.Granted)
			before := h.credential()
			delete(h.fails, call)

			require.NoError(t, h.look(t, "request-1"))

			r := h.live("request-1")
			assert.True(t, r.Status.Granted)
			require.Len(t, r.Status.Credentials, 1)
			noted, ok := registration.RecordOf(h.credential().Annotations)
			require.True(t, ok)
			assert.Equal(t, noted.Digest, r.Status.Credentials[0].Digest)
			if before != nil {
				assert.Equal(t, before.Data, h.credential().Data, "the agent may have fetched it")
			}
			h.writes()
			require.NoError(t, h.look(t, "request-1"))
			assert.Empty(t, h.writes())
		})
	}
}

func TestACredentialThatTheCacheHasNotSeenYetIsTheSameOne(t *testing.T) {
	h := joining(t)
	h.secrets.Lag = true
	h.fails[noteRequest] = errors.New("no")
	require.Error(t, h.look(t, "request-1"))
	delete(h.fails, noteRequest)

	require.NoError(t, h.look(t, "request-1"))

	assert.Len(t, h.minted, 1, "what this hub wrote itself it knows")
	require.Len(t, h.live("request-1").Status.Credentials, 1)
	assert.Equal(t, registration.Digest(h.minted[0]), h.live("request-1").Status.Credentials[0].Digest, "and not that of the token which was lost")
}

// The account behind a token that was made anew under its name is another one, and could not open what was sealed for it.
func TestACredentialFollowsTheImportAccount(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	before := h.credential()
	before.Annotations[names.ImportAccountAnnotation] = "import-token-edge-earlier"
	h.secrets.Add(before)

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, importAccountName, h.credential().Annotations[names.ImportAccountAnnotation])
	assert.NotEqual(t, before.Data, h.credential().Data)
}

func TestAForeignCredentialIsAConflictAndNeverTouched(t *testing.T) {
	foreign := func(annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: hubNames().Registration, Name: credentialName, Annotations: annotations},
			Data:       map[string][]byte{"token": []byte("another's")},
		}
	}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		lag    bool
	}{
		"another request's":        {foreign(map[string]string{names.OwnerAnnotation: "ClusterRegistration/other/request-1/uid-9"}), false},
		"nobody's":                 {foreign(nil), false},
		"the cache has not got it": {foreign(nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			h := joining(t)
			h.secrets.Lag = test.lag
			h.secrets.Add(test.secret)

			require.NoError(t, h.look(t, "request-1"), "to try again is of no use")

			writes := h.writes()
			assert.NotContains(t, writes, updateSecret)
			assert.NotContains(t, writes, deleteSecret)
			assert.NotEqual(t, importAccountName, h.credential().Annotations[names.ImportAccountAnnotation], "nobody gets to read it")
			assert.Equal(t, test.secret.Data, h.credential().Data)
			r := h.live("request-1")
			assert.False(t, r.Status.Granted)
			_, reason, message := condition(t, r, fleet.RegistrationConditionGranted)
			assert.Equal(t, "CredentialConflict", reason)
			assert.Contains(t, message, credentialName)
			assert.NotContains(t, message, "another's")

			minted := len(h.minted)
			h.secrets.Sync()
			require.NoError(t, h.look(t, "request-1"))
			assert.Empty(t, h.writes())
			assert.Len(t, h.minted, minted)
		})
	}
}

// A request that was deleted and asked again under its name finds what the first one left.
func TestWhatAPredecessorOfTheSameNameLeftIsReplaced(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.registrations.Remove(workspace, "request-1")
	h.registrations.Add(request(func(r *fleet.ClusterRegistration) { r.UID = "uid-of-the-second" }))
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Contains(t, h.writes(), updateSecret)
	assert.True(t, h.live("request-1").Status.Granted)
	assert.Equal(t, "ClusterRegistration/fleet-default/request-1/uid-of-the-second", h.credential().Annotations[names.OwnerAnnotation])
}

// An account that vanishes without a mark is a fault, and heals: the credential that waits is made anew for the new one.
func TestAnAccountThatWasDeletedIsMadeAnewWithItsCredential(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.accounts.Remove(hubNames().Agents, accountName)
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{applyGrant, mintToken, updateSecret, noteRequest}, h.writes())
	r := h.live("request-1")
	require.Len(t, r.Status.Credentials, 2)
	noted, _ := registration.RecordOf(h.credential().Annotations)
	assert.Equal(t, string(h.accounts.Live(hubNames().Agents, accountName).UID), noted.AccountUID)
}

func TestACredentialThatWasLostIsMadeAnewWhileItsImportAccountLives(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	lost := h.credential()
	h.secrets.Remove(hubNames().Registration, credentialName)
	keys, err := h.requestsOfPart(lost.Namespace, lost.Name, lost) // the event
	require.NoError(t, err)
	require.Len(t, keys, 1)
	h.writes()

	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, []string{mintToken, createSecret, noteRequest}, h.writes())
}

// The reference's case "agent-initiated, token expired/not found": what was granted stays.
func TestWhenTheImportAccountEndsFirstTheCredentialIsWithdrawnAndTheGrantStays(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.tokens.Remove(workspace, "import-token-edge")
	h.accounts.Remove(hubNames().Registration, importAccount(token()).Name)
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Equal(t, []string{deleteSecret, noteRequest}, h.writes())
	r := h.live("request-1")
	assert.True(t, r.Status.Granted)
	value, reason, _ := condition(t, r, fleet.RegistrationConditionCredentialReady)
	assert.Equal(t, corev1.ConditionFalse, value)
	assert.Equal(t, "ImportAccountGone", reason)
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes())
}

func TestNoTokenStandsInStatusOrErrors(t *testing.T) {
	h := joining(t, keyless)
	h.fails[createSecret] = errors.New("no")
	err := h.look(t, "request-1")
	require.Error(t, err)
	assert.ErrorContains(t, err, requestKey)
	assert.NotContains(t, err.Error(), h.minted[0])
}
