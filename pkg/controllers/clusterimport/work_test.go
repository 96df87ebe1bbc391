package clusterimport

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	noteRecord = "update Cluster " + key
	noteStatus = "updateStatus Cluster " + key
	system     = "cattle-fleet-system"
)

func (h *hub) work1(t *testing.T) { t.Helper(); require.NoError(t, h.work(t.Context(), key)) }

func record(t *testing.T, h *hub) registration.Import {
	t.Helper()
	r, ok := registration.ImportOf(h.cluster().Annotations)
	require.True(t, ok)
	return r
}

// R26: one status that says what is missing, no retry, others unaffected; as soon as it is there, the import.
func TestAMissingKubeconfigIsSaidOnceAndWaitedFor(t *testing.T) {
	h, d := importing(t)
	kubeconfig := h.secrets.Live(workspace, "kubeconfig")
	h.secrets.Remove(workspace, "kubeconfig")

	h.work1(t)
	assert.Equal(t, []string{noteStatus}, h.writes())
	assert.Equal(t, "KubeconfigMissing", h.imported(t).Reason)
	assert.Contains(t, h.imported(t).Message, "fleet-default/kubeconfig")
	for range 3 {
		h.work1(t)
	}
	assert.Empty(t, h.writes())

	h.secrets.Add(kubeconfig)
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
	assert.Contains(t, d.objects(), "Deployment cattle-fleet-system/fleet-agent")
}

// R05: the same without an address of the hub.
func TestAMissingAddressOfTheHubIsSaidOnceAndWaitedFor(t *testing.T) {
	h, d := importing(t)
	h.configure(t, map[string]any{"apiServerURL": ""})
	for range 3 {
		h.work1(t)
	}
	assert.Equal(t, []string{noteStatus}, h.writes())
	assert.Equal(t, "NoServerURL", h.imported(t).Reason)
	assert.Empty(t, d.Requests())

	h.configure(t, nil)
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
}

// T06: for two seconds the configuration has no address.
func TestAnAddressThatIsMissingForAMomentTouchesNoWellCluster(t *testing.T) {
	h, d := joined(t)
	h.configure(t, map[string]any{"apiServerURL": ""})
	h.work1(t)
	h.configure(t, nil)
	h.work1(t)
	assert.Empty(t, h.writes())
	assert.Empty(t, d.Requests())
}

// TestOnConfig_DisallowedNamespace of the reference: such a secret is never used.
func TestASecretOfAnotherNamespaceIsNotUsed(t *testing.T) {
	h, d := importing(t)
	stolen := kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig})
	stolen.Namespace = "kube-system"
	h.secrets.Add(stolen)
	h.change(t, func(c *fleet.Cluster) { c.Spec.KubeConfigSecretNamespace = "kube-system" })

	h.work1(t)

	assert.Equal(t, []string{noteStatus}, h.writes())
	assert.Equal(t, "SecretNamespaceNotAllowed", h.imported(t).Reason)
	assert.Empty(t, d.Requests())
}

// dueImports have an import due and its token answered, each for another reason.
func dueImports() map[string]func(*testing.T) (*hub, *downstream) {
	return map[string]func(*testing.T) (*hub, *downstream){
		"the first one": func(t *testing.T) (*hub, *downstream) {
			h, d := importing(t)
			h.work1(t)
			h.answerToken(t)
			return h, d
		},
		"one after the hub moved": func(t *testing.T) (*hub, *downstream) {
			h, d := joined(t)
			h.configure(t, map[string]any{"apiServerURL": "https://moved.example.com"})
			h.work1(t)
			h.answerToken(t)
			return h, d
		},
		"one into another namespace": func(t *testing.T) (*hub, *downstream) {
			h, d := joined(t)
			h.change(t, func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" })
			h.work1(t)
			h.answerToken(t)
			return h, d
		},
		"one with another image, of a silent agent": func(t *testing.T) (*hub, *downstream) {
			h, d := joined(t)
			h.clock.SetTime(now.Add(time.Hour))
			h.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(time.Minute)))
			h.configure(t, map[string]any{"agentImage": "rancher/fleet-agent:v2"})
			h.work1(t)
			h.answerToken(t)
			return h, d
		},
	}
}

// A07: an import that fails half way leaves the old agent, comes back by itself, and writes nothing anew each time.
func TestAFailedImportIsTriedAgainWithTheSameTokenAndOneCondition(t *testing.T) {
	refused := map[string]string{"one after the hub moved": "/secrets"} // its pod stays as it is
	for name, prepare := range dueImports() {
		t.Run(name, func(t *testing.T) {
			h, d := prepare(t)
			h.writes()
			before := d.objects()
			token := h.tokens.Live(workspace, tokenName).UID
			d.refuse(cmp.Or(refused[name], "/deployments"), http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota")

			require.ErrorContains(t, h.work(t.Context(), key), "quota")
			first := h.writes()
			assert.Contains(t, first, noteRecord)
			assert.Equal(t, noteStatus, first[len(first)-1])
			assert.Equal(t, "Forbidden", h.imported(t).Reason)
			assert.Subset(t, d.objects(), before, "nothing of the old agent is gone")

			for range 5 {
				h.clock.SetTime(h.clock.Now().Add(time.Minute))
				require.ErrorContains(t, h.work(t.Context(), key), "quota", "an error, which the queue brings back ever later")
			}
			assert.Empty(t, h.writes(), "one condition, one record, one token")

			d.Intercept(nil)
			h.work1(t)
			assert.Equal(t, "Imported", h.imported(t).Reason)
			assert.Equal(t, token, h.tokens.Live(workspace, tokenName).UID)
			assert.Equal(t, string(token), record(t, h).TokenUID)
			h.writes()
			h.change(t, connectedNow(h))
			for range 3 {
				h.work1(t)
			}
			assert.NotContains(t, h.writes(), noteStatus)
		})
	}
}

// R23: it may end after any call, to the hub or to the cluster; the next look goes on and ends in the same state.
func TestAnImportGoesOnAfterAnyFailure(t *testing.T) {
	want := func(t *testing.T) []string {
		_, d := joined(t)
		return d.objects()
	}(t)
	for _, call := range []string{createToken, noteRecord, noteStatus} {
		t.Run(call, func(t *testing.T) {
			h, d := importing(t)
			h.fails[call] = errors.New("the hub ends here")
			failed := false
			for range 3 {
				failed = h.work(t.Context(), key) != nil || failed
				if h.tokens.Live(workspace, tokenName) != nil {
					h.answerToken(t)
				}
			}
			require.True(t, failed)
			delete(h.fails, call)
			h.work1(t)
			if call == createToken {
				h.answerToken(t)
				h.work1(t)
			}
			assert.Equal(t, want, d.objects())
			assert.Equal(t, "Imported", h.imported(t).Reason)
		})
	}
	for n := 1; ; n++ {
		h, d := importing(t)
		h.work1(t)
		h.answerToken(t)
		left := n
		d.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if left--; left > 0 {
				return false
			}
			kubetest.Fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "cut")
			return true
		})
		err := h.work(t.Context(), key)
		d.Intercept(nil)
		if err == nil {
			require.Greater(t, n, 20, "each call was cut once")
			break
		}
		h.work1(t)
		require.Equal(t, want, d.objects(), "cut at call %d", n)
		require.Equal(t, "Imported", h.imported(t).Reason)
	}
}

func TestAClusterThatCannotBeUsedIsExplained(t *testing.T) {
	otherCA := base64.StdEncoding.EncodeToString(caOf("another CA"))
	kubeconfig := func(change func(string) string) func(*testing.T, *hub, *downstream) {
		return func(_ *testing.T, h *hub, d *downstream) {
			h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte(change(string(d.kubeconfig)))}))
		}
	}
	answer := func(code int, reason metav1.StatusReason) func(*testing.T, *hub, *downstream) {
		return func(_ *testing.T, _ *hub, d *downstream) {
			d.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				kubetest.Fail(w, code, reason, "no")
				return true
			})
		}
	}
	for reason, change := range map[string]func(*testing.T, *hub, *downstream){
		"UntrustedCertificate": kubeconfig(func(s string) string {
			return regexp.MustCompile("certificate-authority-data: .*").ReplaceAllString(s, "certificate-authority-data: "+otherCA)
		}),
		"Unreachable":       kubeconfig(func(s string) string { return strings.Replace(s, serverOf(s), "https://127.0.0.1:1", 1) }),
		"KubeconfigRefused": answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized),
		"Forbidden":         answer(http.StatusForbidden, metav1.StatusReasonForbidden),
		"ImportFailed":      answer(http.StatusTeapot, "Teapot"),
	} {
		t.Run(reason, func(t *testing.T) {
			h, d := importing(t)
			h.work1(t)
			h.answerToken(t)
			h.writes()
			change(t, h, d)

			require.ErrorContains(t, h.work(t.Context(), key), reason)
			assert.Equal(t, []string{noteStatus}, h.writes(), "nothing is recorded of a cluster that was not reached")
			assert.Equal(t, reason, h.imported(t).Reason)
			require.Error(t, h.work(t.Context(), key))
			assert.Empty(t, h.writes())
		})
	}
}

// Only another kubeconfig helps: no try is made before that, and no token minted.
func TestAKubeconfigThatIsRefusedIsNotTriedAgain(t *testing.T) {
	h, d := importing(t)
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte(strings.Replace(string(d.kubeconfig), "token: a-token", "tokenFile: /etc/passwd", 1))}))

	require.NoError(t, h.work(t.Context(), key))

	assert.Equal(t, []string{noteStatus}, h.writes())
	assert.Equal(t, "InvalidKubeconfig", h.imported(t).Reason)
	assert.Empty(t, d.Requests())
}

func TestADecisionWaitsForTheCacheToShowWhatWasWritten(t *testing.T) {
	h, d := importing(t)
	h.work1(t)
	h.answerToken(t)
	h.clusters.Lag = true
	h.writes()
	h.work1(t)
	require.Equal(t, "Imported", h.imported(t).Reason)
	h.writes()
	d.Reset()

	h.work1(t)

	assert.Empty(t, h.writes())
	assert.Empty(t, d.Requests())
}

func TestAClusterThatIsGoneIsNoWork(t *testing.T) {
	h := newHub(t)
	h.work1(t)
	assert.Empty(t, h.writes())
}
