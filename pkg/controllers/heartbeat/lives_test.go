package heartbeat

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// kubeconfigFor is a kubeconfig secret whose token lives so long from a time on.
func kubeconfigFor(t *testing.T, from time.Time, life time.Duration) *corev1.Secret {
	t.Helper()
	claims := fmt.Sprintf(`{"sub":"a","iat":%d,"exp":%d}`, from.Unix(), from.Add(life).Unix())
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	kubeconfig, err := kube.BuildKubeconfig("https://edge.example.com", nil, token, "default")
	require.NoError(t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "kubeconfig"},
		Data:       map[string][]byte{"value": kubeconfig},
	}
}

func (h *hub) valid(t *testing.T) genericcondition.GenericCondition {
	t.Helper()
	c := conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionCredentialValid)
	require.NotNil(t, c)
	return *c
}

// T11: the condition tells of the end before it comes, and what takes the warning back is a new kubeconfig.
func TestAKubeconfigThatEndsSoonIsTold(t *testing.T) {
	h, _ := joined(t)
	h.secrets.Add(kubeconfigFor(t, began, 10*time.Minute))
	h.beat(t, time.Second, "a")
	require.Equal(t, "Valid", h.valid(t).Reason)
	h.beat(t, 7*time.Minute+58*time.Second, "a")
	require.Equal(t, "Valid", h.valid(t).Reason)
	h.writes()

	h.beat(t, 2*time.Second, "a")
	c := h.valid(t)
	assert.Equal(t, corev1.ConditionTrue, c.Status, "the agent's own credential is good: nothing is to be healed")
	assert.Equal(t, "ExpiresSoon", c.Reason)
	assert.Contains(t, c.Message, "the credential of the kubeconfig ends at 2026-03-01T12:10:00Z")
	assert.Contains(t, c.Message, "Secret fleet-default/kubeconfig")
	assert.Equal(t, []string{noteCluster}, h.writes())
	h.beat(t, time.Minute, "a")
	assert.Empty(t, h.writes(), "it is said once")

	h.beat(t, time.Minute, "a")
	assert.Contains(t, h.valid(t).Message, "ended at")
	h.writes()

	h.secrets.Add(kubeconfigFor(t, h.clock.Now(), time.Hour))
	keys, err := h.leasesOfSecret(workspace, "kubeconfig", nil)
	require.NoError(t, err)
	require.Equal(t, []relatedresource.Key{{Namespace: place, Name: names.HeartbeatLease}}, keys)
	require.NoError(t, h.look(t))
	assert.Equal(t, "Valid", h.valid(t).Reason)
	assert.Empty(t, h.valid(t).Message)
	assert.Equal(t, []string{noteCluster}, h.writes())
}

// An agent that is silent sends nothing that would have it looked at.
func TestTheEndOfASilentClustersKubeconfigIsToldInTime(t *testing.T) {
	h, _ := joined(t)
	h.secrets.Add(kubeconfigFor(t, began, 100*time.Minute))
	h.beat(t, time.Second, "a")
	h.clock.SetTime(began.Add(10 * time.Minute))
	require.NoError(t, h.look(t))
	require.True(t, isSilent(h))
	wait, ok := h.leases.After(place, names.HeartbeatLease)
	require.True(t, ok)
	assert.Equal(t, 70*time.Minute+time.Second, wait)

	h.clock.SetTime(began.Add(10*time.Minute + wait))
	require.NoError(t, h.look(t))
	assert.Equal(t, "ExpiresSoon", h.valid(t).Reason)
	wait, _ = h.leases.After(place, names.HeartbeatLease)
	assert.Equal(t, 20*time.Minute, wait, "and then comes the end itself")
}

func isSilent(h *hub) bool {
	c := conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionAgentConnected)
	return c != nil && c.Reason == "Silent"
}

// The hub renews a credential at a third of its life; one with a fifth left was not taken.
func TestACredentialWhoseRenewalIsNotTakenIsTold(t *testing.T) {
	h := due(t)
	h.beat(t, 0, "a")
	require.NotNil(t, h.renewedSecret())
	assert.Equal(t, "Valid", h.valid(t).Reason)
	h.clock.SetTime(began.Add(72*day - time.Minute))
	h.beat(t, 0, "a")
	assert.Equal(t, "Valid", h.valid(t).Reason)

	h.beat(t, time.Minute, "a")
	assert.Equal(t, "ExpiresSoon", h.valid(t).Reason)
	assert.Contains(t, h.valid(t).Message, "the agent's credential ends at 2026-05-30T12:00:00Z: the agent has not taken a new one")

	h.beat(t, time.Minute, h.minted[0])
	assert.Equal(t, "Valid", h.valid(t).Reason)
}

func TestADeadCredentialIsMoreThanOneThatEndsSoon(t *testing.T) {
	h, r := joined(t)
	h.secrets.Add(kubeconfigFor(t, began.Add(-time.Hour), time.Hour))
	h.beat(t, time.Second, "a")
	require.Equal(t, "ExpiresSoon", h.valid(t).Reason)
	h.account(r, "uid-of-another")
	h.tracker.invalidate(place)
	require.NoError(t, h.look(t))
	assert.Equal(t, corev1.ConditionFalse, h.valid(t).Status)
	assert.Equal(t, "AccountReplaced", h.valid(t).Reason)
}

// The end of the hub's CA is written by the import where there is one, and here where there is none.
func TestWhoWritesTheEndOfTheHubsCA(t *testing.T) {
	h, _ := joined(t)
	ca := testCA(t, began.Add(-time.Hour), began.Add(3*time.Hour))
	h.configure(t, ca)
	h.beat(t, time.Second, "a")
	assert.Nil(t, h.cluster().Status.Credential.HubCAExpires)

	c := h.cluster()
	c.Spec.KubeConfigSecret = ""
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.tracker.invalidate(place)
	require.NoError(t, h.look(t))
	require.NotNil(t, h.cluster().Status.Credential.HubCAExpires)
	assert.True(t, h.cluster().Status.Credential.HubCAExpires.Equal(&metav1.Time{Time: began.Add(3 * time.Hour)}))

	h.writes()
	h.beat(t, 135*time.Minute, "a")
	assert.Equal(t, "ExpiresSoon", h.valid(t).Reason)
	assert.Contains(t, h.valid(t).Message, "the hub's CA (SHA-256 ")
	h.configure(t, testCA(t, began, began.Add(300*time.Hour)))
	h.beat(t, time.Minute, "a")
	assert.Equal(t, "Valid", h.valid(t).Reason, "a new configuration is seen at the next heartbeat")
}

func TestASecretOfAForeignNamespaceIsNotRead(t *testing.T) {
	h, _ := joined(t)
	secret := kubeconfigFor(t, began.Add(-time.Hour), time.Hour)
	secret.Namespace = "kube-system"
	h.secrets.Add(secret)
	c := h.cluster()
	c.Spec.KubeConfigSecretNamespace = "kube-system"
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.beat(t, time.Second, "a")
	assert.Equal(t, "Valid", h.valid(t).Reason)
}
