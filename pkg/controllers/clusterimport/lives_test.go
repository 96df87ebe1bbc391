package clusterimport

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// withToken has the kubeconfig carry a token that ends some time after now.
func (d *downstream) withToken(h *hub, life time.Duration) {
	claims := fmt.Sprintf(`{"sub":"a","iat":%d,"exp":%d}`, now.Unix(), now.Add(life).Unix())
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	before, after, _ := strings.Cut(string(d.kubeconfig), "token: ")
	_, after, _ = strings.Cut(after, "\n")
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte(before + "token: " + token + "\n" + after)}))
}

func (h *hub) ends(t *testing.T) fleet.CredentialStatus {
	t.Helper()
	require.NotNil(t, h.cluster().Status.Credential)
	return *h.cluster().Status.Credential
}

// T11: what ends some day is shown from the import on, and costs no write of its own then.
func TestTheEndsOfWhatIsStoredAreShown(t *testing.T) {
	h, d := importing(t)
	d.withToken(h, time.Hour)
	h.change(t, func(c *fleet.Cluster) { c.Status.Namespace = "" })
	h.work1(t)
	assert.Empty(t, h.writes(), "the cluster is not ready to be imported")
	h.change(t, func(c *fleet.Cluster) { c.Status.Namespace = "cluster-fleet-default-edge" })
	h.work1(t)
	assert.Equal(t, []string{createToken}, h.writes())
	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, []string{noteRecord, noteStatus}, h.writes())
	ends := h.ends(t)
	assert.True(t, ends.KubeconfigExpires.Equal(&metav1.Time{Time: now.Add(time.Hour)}))
	assert.NotNil(t, ends.KubeconfigCAExpires)
	assert.True(t, ends.HubCAExpires.Equal(&metav1.Time{Time: endOfCAs}))
	h.change(t, connectedNow(h))
	h.work1(t)
	assert.Empty(t, h.writes())
}

func TestAnUnreadableKubeconfigShowsNoEnds(t *testing.T) {
	h, d := importing(t)
	d.withToken(h, time.Hour)
	h.importNow(t)
	secret := h.secrets.Live(workspace, "kubeconfig")
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("{")}))
	require.NoError(t, h.work(t.Context(), key))
	assert.Equal(t, fleet.CredentialStatus{HubCAExpires: &metav1.Time{Time: endOfCAs}}, h.ends(t), "nothing of the kubeconfig")

	h.secrets.Remove(workspace, "kubeconfig")
	h.work1(t)
	h.secrets.Add(secret)
	h.work1(t)
	assert.NotNil(t, h.ends(t).KubeconfigExpires)
	h.secrets.Remove(workspace, "kubeconfig")
	h.work1(t)
	assert.NotNil(t, h.ends(t).KubeconfigExpires, "a secret that is made anew at this moment is no news")
}

// What a Cluster no longer names ends at no time. That of the hub's CA is the heartbeats' controller's to say.
func TestTheEndsOfASecretThatIsNoLongerNamedAreTakenBack(t *testing.T) {
	for name, before := range map[string]func(*testing.T, *hub, *downstream){
		"after its import": func(t *testing.T, h *hub, _ *downstream) { h.importNow(t) },
		"of an import that never was": func(t *testing.T, h *hub, d *downstream) {
			d.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				kubetest.Fail(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "no")
				return true
			})
			h.work1(t)
			h.answerToken(t)
			require.Error(t, h.work(t.Context(), key))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			d.withToken(h, time.Hour)
			before(t, h, d)
			require.NotNil(t, h.ends(t).KubeconfigExpires)
			require.NotNil(t, h.ends(t).KubeconfigCAExpires)
			hubCA := metav1.NewTime(now.Add(1000 * time.Hour))
			h.change(t, func(c *fleet.Cluster) {
				c.Spec.KubeConfigSecret, c.Status.Credential.HubCAExpires, c.Status.Credential.Type = "", &hubCA, "TokenRequest"
			})

			h.work1(t)

			assert.Equal(t, []string{noteStatus}, h.writes())
			assert.Equal(t, fleet.CredentialStatus{HubCAExpires: &hubCA, Type: "TokenRequest"}, h.ends(t))
			h.work1(t)
			assert.Empty(t, h.writes())
		})
	}
}

// A hub's CA in the secret, or in the configuration; an import in both cases, since the agent has to be told.
func TestTheEndOfTheHubsCAIsThatOfWhatTheAgentIsGiven(t *testing.T) {
	var none *issuer
	configured, own := none.issue(t, "configured", -time.Hour, 1000*time.Hour), none.issue(t, "own", -time.Hour, 2000*time.Hour)
	h, d := joined(t)
	h.configure(t, map[string]any{"apiServerCA": configured.pem()})
	h.importNow(t)
	assert.True(t, h.ends(t).HubCAExpires.Equal(&metav1.Time{Time: configured.cert.NotAfter}))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig, keyServerCA: own.pem()}))
	h.importNow(t)
	assert.True(t, h.ends(t).HubCAExpires.Equal(&metav1.Time{Time: own.cert.NotAfter}))
}

// Nothing of the import changes, the cluster's CA in the kubeconfig alone is another: one write, and what the heartbeats
// write stays.
func TestAChangedSecretShowsItsEndsAndTouchesNothingElse(t *testing.T) {
	h, d := joined(t)
	expires := metav1.NewTime(now.Add(90 * 24 * time.Hour))
	h.change(t, func(c *fleet.Cluster) {
		c.Status.Credential.Type, c.Status.Credential.Expires = "TokenRequest", &expires
	})
	d.withToken(h, time.Hour)
	h.work1(t)
	assert.Equal(t, []string{noteRecord, noteStatus}, h.writes(), "the kubeconfig is noted, the ends are shown")
	assert.Empty(t, d.Writes())
	ends := h.ends(t)
	assert.Equal(t, "TokenRequest", ends.Type)
	assert.True(t, ends.Expires.Equal(&expires))
	assert.True(t, ends.KubeconfigExpires.Equal(&metav1.Time{Time: now.Add(time.Hour)}))
	for range 3 {
		h.work1(t)
	}
	assert.Empty(t, h.writes())
}

// When one certificate of a bundle has ended the next one counts, which no event tells.
func TestABundleIsLookedAtAgainWhenOneOfItHasEnded(t *testing.T) {
	var none *issuer
	h := newHub(t)
	h.clock.SetTime(time.Now())
	old, next := none.issue(t, "old", -time.Hour, time.Hour), none.issue(t, "next", -time.Hour, 100*time.Hour)
	h.configure(t, map[string]any{"apiServerCA": append(old.pem(), next.pem()...)})
	h.clusters.Add(cluster(imported))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig")}))
	f, err := h.observe(h.cluster())
	require.NoError(t, err)
	f.lives = livesOf(f)
	assert.InDelta(t, time.Hour.Seconds(), livesChange(f).Seconds(), 3)
	f.now = f.now.Add(2 * time.Hour)
	f.lives = livesOf(f)
	assert.Zero(t, livesChange(f))
	assert.True(t, f.lives.HubCA.Until.Equal(next.cert.NotAfter))
	f.lives = nil
	assert.Zero(t, livesChange(f))
}

func TestAClusterOfAnotherManagerIsNotWrittenTo(t *testing.T) {
	h, d := importing(t)
	d.withToken(h, time.Hour)
	h.change(t, func(c *fleet.Cluster) { c.Labels = map[string]string{"fleet.cattle.io/cluster-management": "x"} })
	h.work1(t)
	assert.Empty(t, h.writes())
}
