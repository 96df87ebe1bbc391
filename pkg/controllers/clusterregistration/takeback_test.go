package clusterregistration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// After a start this cache may be behind the one whose object brought the key here. To take back what a living request
// was granted would cut its agent off for good.
func TestARequestThatOnlyTheCacheMissesKeepsItsGrant(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.registrations.Hide(workspace, "request-1")
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.Empty(t, h.writes())
}

func TestWhatAGoneRequestHadIsTakenBack(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.registrations.Remove(workspace, "request-1")
	h.writes()

	require.NoError(t, h.look(t, "request-1"))

	assert.NotEmpty(t, h.writes())
	assert.Nil(t, h.secrets.Live(hubNames().Registration, names.CredentialSecret(client, "random")))
}

// A credential that still waits for its agent is not withdrawn because a cache has not seen the account that may fetch it.
func TestAnImportAccountThatOnlyTheCacheMissesWithdrawsNothing(t *testing.T) {
	for name, hide := range map[string]func(*hub){
		"the account": func(h *hub) {
			h.accounts.Hide(hubNames().Registration, names.Account("import-token-edge", tokenUID))
		},
		"the token": func(h *hub) { h.tokens.Hide(workspace, "import-token-edge") },
	} {
		t.Run(name, func(t *testing.T) {
			h := joining(t)
			require.NoError(t, h.look(t, "request-1"))
			hide(h)
			h.writes()

			require.NoError(t, h.look(t, "request-1"))

			assert.NotNil(t, h.secrets.Live(hubNames().Registration, names.CredentialSecret(client, "random")))
			assert.NotContains(t, h.writes(), "delete Secret "+hubNames().Registration+"/"+names.CredentialSecret(client, "random"))
		})
	}
}

// A deletion that a broken watch missed names nobody; a grant is looked at by itself, and that costs no request.
func TestAGrantIsSweptAndThatIsFree(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	after, ordered := h.registrations.After(workspace, "request-1")
	require.True(t, ordered)
	assert.Equal(t, kube.RecentLife+time.Second, after, "what waits for its agent may be deleted before the cache has shown it")

	r := h.live("request-1")
	registration.MarkUsed(&r.Status, r.Status.Credentials[0], now)
	_, err := h.registrations.UpdateStatus(r)
	require.NoError(t, err)
	require.NoError(t, h.look(t, "request-1"))
	after, _ = h.registrations.After(workspace, "request-1")
	assert.Equal(t, sweep, after)
}

// What requests must bring is configuration; those that were refused for it are asked again.
func TestAChangedConfigurationAsksUngrantedRequestsAgain(t *testing.T) {
	h := joining(t, granted, used)
	h.registrations.Add(request(named("refused"), func(r *fleet.ClusterRegistration) { r.Status.Granted = false }))

	require.NoError(t, h.onConfig(context.Background(), h.source.Get()))

	after, ordered := h.registrations.After(workspace, "refused")
	require.True(t, ordered)
	assert.Zero(t, after)
	_, ordered = h.registrations.After(workspace, "request-1")
	assert.False(t, ordered)
}

// E01: a request whose Cluster was taken away by force would stay for ever.
func TestARequestWhoseClusterIsGoneGoesToo(t *testing.T) {
	h := joining(t, granted, used)
	h.clusters.Remove(workspace, edge)

	require.NoError(t, h.look(t, "request-1"))

	assert.Nil(t, h.live("request-1"))
}

// The reference's case "token cache unexpected error": that a token cannot be read does not mean that it is gone.
func TestATokenThatCannotBeReadTakesNothing(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.tokens.Hide(workspace, "import-token-edge")
	h.tokens.Fail = h.script("ClusterRegistrationToken")
	h.fails["get ClusterRegistrationToken fleet-default/import-token-edge"] = errors.New("out")
	h.writes()

	require.ErrorContains(t, h.look(t, "request-1"), "import-token-edge: out")

	assert.Empty(t, h.writes())
	assert.True(t, h.live("request-1").Status.Granted)
}
