package cases

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// An API server that grants short tokens only. An agent that the hub can import again lives with it; one that nobody can
// bring back gets a credential without an end, which is told, and which ends with its account.
func TestWhereTokensAreShortAnAgentThatNobodyCanBringBackGetsACredentialWithoutAnEnd(t *testing.T) {
	b := own(t, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}},
		lab.WithAPIServerArgs("--service-account-extend-token-expiration=false", "--service-account-max-token-expiration=2h"))
	byToken, byHub := newPlace(), newPlace()
	b.workspace(t, byToken.workspace)
	values, err := b.NewToken(until(t), byToken.workspace, "short", fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: "edge",
	})
	require.NoError(t, err)
	b.agentByHand(t, byToken, "alone", values)
	b.agentProcess(t, byToken, "agent-alone")
	b.manage(t, byHub, "edge")
	b.agent(t, byHub, "agent-managed")

	alone, managed := b.connected(t, byToken, "edge"), b.connected(t, byHub, "edge")

	require.Equal(t, registration.TypeSecret, alone.Status.Credential.Type)
	require.Nil(t, alone.Status.Credential.Expires)
	valid := stage.Condition(alone.Status.Conditions, fleet.ClusterConditionCredentialValid)
	require.NotNil(t, valid)
	require.Contains(t, valid.Message, "it has no end")
	require.Equal(t, registration.TypeTokenRequest, managed.Status.Credential.Type)
	require.WithinDuration(t, time.Now().Add(2*time.Hour), managed.Status.Credential.Expires.Time, patience)

	accounts := b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace)
	secrets := b.Hub.Kube.CoreV1().Secrets(stage.AgentsNamespace)
	list, err := secrets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1, "for the one that needs it and nobody else")
	secret := list.Items[0]
	require.Equal(t, corev1.SecretTypeServiceAccountToken, secret.Type)
	account := secret.Annotations[corev1.ServiceAccountNameKey]
	require.Equal(t, names.AccountToken(account), secret.Name)

	b.deleteCluster(t, byToken.workspace, "edge")
	await(t, "the account and its token without an end to go", func(ctx context.Context) (bool, string, error) {
		_, noAccount := accounts.Get(ctx, account, metav1.GetOptions{})
		_, noToken := secrets.Get(ctx, secret.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(noAccount) && apierrors.IsNotFound(noToken), fmt.Sprintf("account: %v, token: %v", noAccount, noToken), nil
	})
}
