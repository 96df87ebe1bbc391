package heartbeat

import (
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

// joinsByItself makes the cluster one that the hub cannot import.
func (h *hub) joinsByItself(t *testing.T) {
	t.Helper()
	c := h.cluster().DeepCopy()
	c.Spec.KubeConfigSecret = ""
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.writes()
}

// accountToken is the name of the token without an end of the account of request-1.
func accountToken() string { return names.AccountToken(names.Account("request-1", "uid-of-request-1")) }

func TestAnAgentThatNobodyCanBringBackIsRenewedWithoutAnEndWhereTokensAreShort(t *testing.T) {
	h := due(t)
	h.joinsByItself(t)
	h.longest = day

	h.beat(t, time.Minute, "a")
	createToken := "create Secret " + hubNames().Agents + "/" + accountToken()
	require.Equal(t, []string{mintToken, createToken}, h.writes())
	order := h.secrets.Live(hubNames().Agents, accountToken())
	assert.Equal(t, corev1.SecretTypeServiceAccountToken, order.Type)
	h.beat(t, time.Minute, "a")
	require.Empty(t, h.writes(), "until the token is made there is nothing to do")

	order = order.DeepCopy()
	order.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(jwt("endless"))}
	_, err := h.secrets.Update(order)
	require.NoError(t, err)
	h.writes()
	h.beat(t, time.Minute, "a")
	require.Equal(t, []string{createSecret, noteRequest}, h.writes())
	assert.Equal(t, jwt("endless"), string(h.renewedSecret().Data["token"]))

	h.beat(t, time.Minute, jwt("endless"))
	require.Equal(t, []string{noteRequest, noteCluster, deleteSecret}, h.writes())
	status := h.cluster().Status
	assert.Equal(t, registration.TypeSecret, status.Credential.Type)
	assert.Nil(t, status.Credential.Expires)
	valid := conditions.GetCondition(status.Conditions, fleet.ClusterConditionCredentialValid)
	assert.Equal(t, "Valid", valid.Reason)
	assert.Contains(t, valid.Message, "it has no end")

	h.clock.SetTime(began.Add(3650 * day))
	h.beat(t, time.Minute, jwt("endless"))
	assert.NotContains(t, h.writes(), mintToken, "it is never due")
}

func TestAShortLifeWillDoForAnAgentThatTheHubCanBringBack(t *testing.T) {
	h := due(t)
	h.longest = day
	h.beat(t, time.Minute, "a")
	assert.Equal(t, []string{mintToken, createSecret, noteRequest}, h.writes())
}
