package handshake

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// R06: whatever namespace a person makes a token in, it soon has its Secret, and what the Secret holds is good.
func TestATokenHasItsSecretInAnyNamespace(t *testing.T) {
	b := shared(t)
	long := "ns-" + strings.Repeat("x", 60)
	require.NoError(t, b.EnsureNamespace(t.Context(), long))
	for _, ns := range []string{"default", long, stage.SystemNamespace, stage.RegistrationNamespace, stage.AgentsNamespace, b.ownWorkspace(t).workspace} {
		for name, spec := range map[string]fleet.ClusterRegistrationTokenSpec{
			"ending": {TTL: &metav1.Duration{Duration: time.Hour}}, "endless": {},
		} {
			values, err := b.NewToken(until(t), ns, name, spec)
			require.NoError(t, err, "%s in %s", name, ns)
			require.Equal(t, ns, values["clusterNamespace"])
			b.requireTokenOf(t, ns, name, values["token"].(string))
			b.deleteAndAwait(t, stage.Tokens, ns, name)
		}
	}
}

// requireTokenOf asks the API server whose a token is.
func (b *bed) requireTokenOf(t *testing.T, ns, name, token string) {
	t.Helper()
	owner, err := stage.Get[fleet.ClusterRegistrationToken](t.Context(), b.Hub, stage.Tokens, ns, name)
	require.NoError(t, err)
	require.NotNil(t, owner)
	bearer, err := b.Hub.AsToken("bearer", token)
	require.NoError(t, err)
	self, err := bearer.Kube.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	account := names.Account(name, string(owner.UID))
	require.Equal(t, names.AccountUser(stage.RegistrationNamespace, account), self.Status.UserInfo.Username)
}

// R06: while nobody fills in tokens, a token says what it waits for; it has its Secret soon after somebody does again.
func TestATokenThatWaitsForTheControllerManagerSaysSo(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	require.NoError(t, b.Hub.StopControllerManager(until(t)))
	running := false
	t.Cleanup(func() {
		if !running { // the shared hub is needed by others
			require.NoError(t, b.Hub.StartControllerManager(context.Background()))
		}
	})
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Tokens, "ClusterRegistrationToken", p.workspace, &fleet.ClusterRegistrationToken{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: p.token},
	}))
	await(t, "the token to say what it waits for", func(ctx context.Context) (bool, string, error) {
		token, err := stage.Get[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, p.workspace, p.token)
		if err != nil || token == nil {
			return false, "no token", err
		}
		ready := stage.Condition(token.Status.Conditions, fleet.TokenConditionReady)
		return ready != nil && ready.Reason == "WaitingForToken" && strings.Contains(ready.Message, "kube-controller-manager"), stage.Conditions(token.Status.Conditions), nil
	})
	_, err := b.NewToken(until(t), p.workspace, "ending", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err, "a token with an end needs no controller manager")

	require.NoError(t, b.Hub.StartControllerManager(until(t)))
	running = true
	values, err := b.TokenValues(until(t), p.workspace, p.token)
	require.NoError(t, err, fmt.Sprintf("token %s/%s", p.workspace, p.token))
	b.requireTokenOf(t, p.workspace, p.token, values["token"].(string))
}
