package clusterregistration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// withoutKubeconfig makes the cluster one that the hub cannot import.
func withoutKubeconfig(c *fleet.Cluster) { c.Spec.KubeConfigSecret = "" }

func TestWhereTokensAreShortAGrantWaitsForOneWithoutAnEnd(t *testing.T) {
	h := joining(t, keyless)
	h.clusters.Add(cluster(withoutKubeconfig))
	h.longest = 24 * time.Hour
	require.NoError(t, h.look(t, "request-1"))

	r := h.live("request-1")
	ready := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
	require.NotNil(t, ready)
	assert.EqualValues(t, metav1.ConditionFalse, ready.Status)
	assert.Equal(t, "TokenPending", ready.Reason)
	assert.Nil(t, h.credential())
	name := names.AccountToken(account(r))
	order := h.secrets.Live(hubNames().Agents, name)
	require.NotNil(t, order)
	assert.Equal(t, corev1.SecretTypeServiceAccountToken, order.Type)
	keys, err := h.requestsOfPart(order.Namespace, order.Name, order)
	require.NoError(t, err)
	assert.Len(t, keys, 1, "its event comes back to the request")
	h.writes()
	require.NoError(t, h.look(t, "request-1"))
	assert.Empty(t, h.writes(), "nothing is asked for again")

	order = order.DeepCopy()
	token := jwt("endless", string(h.accounts.Live(hubNames().Agents, account(r)).UID))
	order.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(token)}
	_, err = h.secrets.Update(order)
	require.NoError(t, err)
	require.NoError(t, h.look(t, "request-1"))
	assert.Equal(t, token, string(h.credential().Data["token"]))
	r = h.live("request-1")
	require.Len(t, r.Status.Credentials, 1)
	assert.Equal(t, registration.TypeSecret, r.Status.Credentials[0].Type)
	assert.Nil(t, r.Status.Credentials[0].Expires)
	assert.True(t, conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialReady))
}

func TestAForeignSecretInTheWayOfATokenWithoutAnEndIsNamedAndKept(t *testing.T) {
	h := joining(t, keyless)
	h.clusters.Add(cluster(withoutKubeconfig))
	h.longest = 24 * time.Hour
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: hubNames().Agents, Name: names.AccountToken(account(h.live("request-1")))},
		Type:       corev1.SecretTypeOpaque,
	}
	h.secrets.Add(foreign)
	err := h.look(t, "request-1")
	require.ErrorContains(t, err, foreign.Name)
	require.ErrorContains(t, err, "delete it")
	assert.Equal(t, corev1.SecretTypeOpaque, h.secrets.Live(foreign.Namespace, foreign.Name).Type)
}
