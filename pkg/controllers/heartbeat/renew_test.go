package heartbeat

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const day = 24 * time.Hour

// due is a hub whose agent uses credential "a", which is due for renewal.
func due(t *testing.T) *hub {
	t.Helper()
	h, _ := joined(t)
	h.beat(t, time.Second, "a")
	h.writes()
	h.clock.SetTime(began.Add(60 * day))
	return h
}

func (h *hub) renewedSecret() *corev1.Secret {
	return h.secrets.Live(place, names.RenewedCredentialSecret)
}

const (
	createSecret = "create Secret " + place + "/fleet-agent-credential"
	deleteSecret = "delete Secret " + place + "/fleet-agent-credential"
	noteRequest  = "updateStatus ClusterRegistration fleet-default/request-1"
	mintToken    = "create token of cattle-fleet-agents-system"
	noteCluster  = "updateStatus Cluster fleet-default/edge"
)

func TestACredentialIsRenewedOnceAThirdOfItsLifeIsLeft(t *testing.T) {
	h := due(t)
	h.clock.SetTime(began.Add(60*day - time.Minute))
	h.beat(t, 0, "a")
	require.NotContains(t, h.writes(), mintToken, "a minute before")

	h.beat(t, time.Minute, "a")

	require.Equal(t, []string{mintToken, createSecret, noteRequest}, h.writes())
	secret := h.renewedSecret()
	assert.Equal(t, corev1.SecretType("fleet.cattle.io/agent-credential"), secret.Type)
	assert.Equal(t, map[string][]byte{"token": []byte(h.minted[0])}, secret.Data)
	assert.Equal(t, map[string]string{"fleet.cattle.io/managed": "true"}, secret.Labels)
	records := h.registrations.Live(workspace, "request-1").Status.Credentials
	require.Len(t, records, 2)
	assert.Equal(t, registration.Digest(h.minted[0]), records[1].Digest)
	assert.False(t, records[1].Used)
	noted, ok := registration.RecordOf(secret.Annotations)
	require.True(t, ok)
	assert.Equal(t, noted.Digest, records[1].Digest)
	assert.True(t, records[1].Expires.Time.Equal(h.clock.Now().Add(90*day)))

	for range 5 {
		h.beat(t, time.Minute, "a")
	}
	assert.Empty(t, h.writes(), "until the agent takes it nothing more is to be done")
	assert.Len(t, h.minted, 1)
}

func TestTheRenewedCredentialGoesOnceItIsInUse(t *testing.T) {
	h := due(t)
	h.beat(t, time.Minute, "a")
	h.writes()

	h.beat(t, time.Minute, h.minted[0])

	assert.Equal(t, []string{noteRequest, noteCluster, deleteSecret}, h.writes())
	assert.True(t, h.registrations.Live(workspace, "request-1").Status.Credentials[1].Used)
	assert.True(t, h.cluster().Status.Credential.Expires.Time.After(began.Add(140*day)), "the cluster shows the new end")

	for range 5 {
		h.beat(t, time.Minute, h.minted[0])
	}
	assert.Empty(t, h.writes())
}

// R23: the hub ends after any write, and a new one goes on with the same credential.
func TestARenewalThatWasInterruptedGoesOnWithTheSameCredential(t *testing.T) {
	restart := func(h *hub) {
		h.fails = map[string]error{}
		h.tracker = newTracker(h.clock.Now(), nil)
		_ = h.look(t)
	}
	interrupted := func(t *testing.T) *hub {
		h := due(t)
		h.fails[noteRequest] = errors.New("the hub ends here")
		h.renew(t, "a")
		require.Error(t, h.look(t))
		require.NotNil(t, h.renewedSecret())
		restart(h)
		h.writes()
		return h
	}
	t.Run("the agent still has the old one", func(t *testing.T) {
		h := interrupted(t)
		h.beat(t, time.Minute, "a")
		assert.Equal(t, []string{noteRequest}, h.writes())
		assert.Len(t, h.registrations.Live(workspace, "request-1").Status.Credentials, 2)
	})
	t.Run("the agent has taken it", func(t *testing.T) {
		h := interrupted(t)
		h.beat(t, time.Minute, h.minted[0])
		assert.Equal(t, []string{noteRequest, noteCluster, deleteSecret}, h.writes())
		assert.True(t, h.registrations.Live(workspace, "request-1").Status.Credentials[1].Used)
	})
}

func TestARenewedCredentialThatNobodyCanUseIsReplaced(t *testing.T) {
	other := granted("request-0", began, record("z", began))
	dead := record("b", began)
	dead.AccountUID = "uid-of-an-earlier-account"
	for name, secret := range map[string]*corev1.Secret{
		"of an earlier request": renewedSecret(newCluster(), other, "z", record("z", began)),
		"of an earlier account": renewedSecret(newCluster(), granted("request-1", began), "b", dead),
		"which has ended":       renewedSecret(newCluster(), granted("request-1", began), "b", record("b", began.Add(-40*day))),
	} {
		t.Run(name, func(t *testing.T) {
			h := due(t)
			h.secrets.Add(secret)

			h.beat(t, 0, "a")
			assert.Equal(t, []string{deleteSecret}, h.writes())
			h.beat(t, time.Minute, "a")
			assert.Equal(t, []string{mintToken, createSecret, noteRequest}, h.writes())
		})
	}
}

func TestAForeignSecretOfThatNameIsNeverTouched(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {names.OwnerAnnotation: ownerOf(granted("request-1", began))}} {
		h := due(t)
		foreign := &corev1.Secret{Type: corev1.SecretTypeOpaque}
		foreign.Namespace, foreign.Name, foreign.Annotations = place, names.RenewedCredentialSecret, annotations
		h.secrets.Add(foreign)
		h.renew(t, "a")

		require.ErrorContains(t, h.look(t), "delete it")
		assert.Empty(t, h.writes())
	}
}

func TestASecretThatTheCacheHasNotSeenYetIsNoFailure(t *testing.T) {
	h := due(t)
	h.secrets.Lag = true
	h.beat(t, 0, "a")
	h.writes()

	h.beat(t, time.Second, "a")
	require.Equal(t, []string{mintToken, createSecret}, h.writes(), "the token of this try is lost, and in no record")
	h.secrets.Sync()
	h.beat(t, time.Second, "a")

	assert.Equal(t, h.minted[0], string(h.renewedSecret().Data["token"]))
	assert.Len(t, h.registrations.Live(workspace, "request-1").Status.Credentials, 2)
}

func TestNothingIsRenewedFor(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, h *hub){
		"a revoked cluster": func(t *testing.T, h *hub) {
			c := h.cluster()
			c.Spec.Revoked = true
			_, err := h.clusters.Update(c)
			require.NoError(t, err)
		},
		"a credential that died with its account": func(_ *testing.T, h *hub) {
			r := h.registrations.Live(workspace, "request-1")
			h.account(r, "uid-of-another")
		},
		"a credential that is not known": func(_ *testing.T, h *hub) { h.registrations.Remove(workspace, "request-1") },
	} {
		t.Run(name, func(t *testing.T) {
			h := due(t)
			change(t, h)
			h.beat(t, 0, "a")
			assert.NotContains(t, h.writes(), mintToken)
			assert.Nil(t, h.renewedSecret())
		})
	}
	t.Run("a credential without an end", func(t *testing.T) {
		h, _ := joined(t)
		r := h.registrations.Live(workspace, "request-1")
		r.Status.Credentials[0].Type, r.Status.Credentials[0].Expires = "Secret", nil
		h.registrations.Add(r)
		h.beat(t, time.Second, "a")
		h.beat(t, 1000*day, "a")
		assert.NotContains(t, h.writes(), mintToken)
		assert.Nil(t, h.cluster().Status.Credential.Expires)
		assert.True(t, conditions.IsTrue(h.cluster().Status.Conditions, fleet.ClusterConditionCredentialValid))
	})
	t.Run("a silent agent", func(t *testing.T) {
		h := due(t)
		require.NoError(t, h.look(t))
		assert.NotContains(t, h.writes(), mintToken)
	})
}

func TestAFailedRenewalIsTriedAgain(t *testing.T) {
	for _, call := range []string{mintToken, createSecret, noteRequest} {
		t.Run(call, func(t *testing.T) {
			h := due(t)
			h.fails[call] = errors.New("no")
			h.renew(t, "a")
			require.ErrorContains(t, h.look(t), "fleet-default/edge")
			delete(h.fails, call)

			require.NoError(t, h.look(t))

			require.NotNil(t, h.renewedSecret())
			records := h.registrations.Live(workspace, "request-1").Status.Credentials
			require.Len(t, records, 2)
			assert.Equal(t, registration.Digest(string(h.renewedSecret().Data["token"])), records[1].Digest)
		})
	}
}

func TestAnAgentInitiatedClusterGetsTheLongerLife(t *testing.T) {
	h := due(t)
	c := h.cluster()
	c.Spec.KubeConfigSecret = ""
	_, err := h.clusters.Update(c)
	require.NoError(t, err)

	h.beat(t, 0, "a")

	records := h.registrations.Live(workspace, "request-1").Status.Credentials
	assert.True(t, records[1].Expires.Time.Equal(h.clock.Now().Add(365*day)))
}

func TestNoTokenStandsInAnyStatusOrError(t *testing.T) {
	h := due(t)
	h.fails[noteRequest] = errors.New("no")
	h.renew(t, "a")
	err := h.look(t)
	require.Error(t, err)
	require.NotEmpty(t, h.minted)
	assert.NotContains(t, err.Error(), h.minted[0])
	var all []fleet.CredentialRecord
	all = append(all, h.registrations.Live(workspace, "request-1").Status.Credentials...)
	for _, r := range all {
		assert.Len(t, r.Digest, 16)
	}
}
