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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
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

func TestTheFirstImport(t *testing.T) {
	h, d := importing(t)

	h.work1(t)
	assert.Equal(t, []string{createToken}, h.writes())
	assert.Empty(t, d.Requests(), "nothing is asked of the cluster before there is something to give")

	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, []string{noteRecord, noteStatus}, h.writes(), "the record first: the agent's request is known by it")
	token := h.tokens.Live(workspace, tokenName)
	r := record(t, h)
	assert.Equal(t, registration.Import{
		TokenUID: string(token.UID), AccountUID: "account-of-" + string(token.UID), ClusterUID: d.uid, Namespace: system,
		Kubeconfig: digest(d.kubeconfig), Generation: r.Generation, Time: now,
	}, r)
	status := h.cluster().Status
	assert.Equal(t, int64(0), *status.AgentDeployedGeneration)
	assert.True(t, status.AgentMigrated && status.AgentNamespaceMigrated && status.CattleNamespaceMigrated)
	assert.Equal(t, []any{hubURL, caHash([]byte("the hub's CA")), "strict"}, []any{status.APIServerURL, status.APIServerCAHash, status.AgentTLSMode})
	assert.Nil(t, status.GarbageCollectionInterval)
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.ClusterConditionImported))

	d.Reset()
	h.work1(t)
	assert.Empty(t, h.writes(), "until the agent has had its time nothing more is to be done")
	assert.Empty(t, d.Requests())
}

func TestTheAgentIsSetGoingLast(t *testing.T) {
	h, d := joined(t)
	assert.Equal(t, []string{
		"ClusterRole /cattle-fleet-system-fleet-agent-role", "ClusterRoleBinding /cattle-fleet-system-fleet-agent-role-binding",
		"ConfigMap cattle-fleet-system/fleet-agent", "Deployment cattle-fleet-system/fleet-agent", "Namespace /cattle-fleet-system",
		"NetworkPolicy cattle-fleet-system/default-allow-all", "Secret cattle-fleet-system/fleet-agent-bootstrap",
		"ServiceAccount cattle-fleet-system/default", "ServiceAccount cattle-fleet-system/fleet-agent",
	}, d.objects())

	h, d = importing(t)
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	writes := d.Writes()
	assert.Equal(t, "/api/v1/namespaces", writes[0].Path)
	assert.Equal(t, "/api/v1/namespaces/cattle-fleet-system/secrets", writes[len(writes)-1].Path)
	for _, w := range writes {
		assert.NotEqual(t, "delete", w.Verb, "apply over, remove last (A07)")
	}

	secret := d.Object("Secret", system, "fleet-agent-bootstrap")
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	require.NoError(t, err)
	b, err := registration.ParseBootstrap(decoded(t, data))
	require.NoError(t, err)
	assert.Equal(t, hubURL, b.APIServerURL)
	assert.Equal(t, "the hub's CA", string(b.APIServerCA))
	assert.Equal(t, tokenName, b.TokenName)
	assert.Equal(t, hubNames().Registration, b.SystemRegistrationNamespace)
	for annotation := range secret.GetAnnotations() {
		assert.NotContains(t, annotation, "objectset", "the engine would repeat the token's first bytes")
	}
}

// A02: the pod carries the same generation that the record has and that the bundle computes, so that adoption restarts nothing.
func TestTheAgentCarriesTheGenerationOfTheRecord(t *testing.T) {
	h, d := joined(t)
	options, _, err := agentmanifest.Effective(h.cluster(), settings(h.source.Get()))
	require.NoError(t, err)
	want := agentmanifest.Generation(options)
	assert.Equal(t, want, record(t, h).Generation)
	raw, err := d.Object("Deployment", system, "fleet-agent").MarshalJSON()
	require.NoError(t, err)
	assert.Contains(t, string(raw), `{"name":"GENERATION","value":"`+want+`"}`)
}

func TestTheAgentsConfigMap(t *testing.T) {
	h, d := importing(t)
	h.change(t, func(c *fleet.Cluster) {
		c.Labels = map[string]string{"env": "prod", "management.cattle.io/cluster-display-name": "x", "kubectl.kubernetes.io/y": "z"}
	})
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	text, _, err := unstructured.NestedString(d.Object("ConfigMap", system, "fleet-agent").Object, "data", "config")
	require.NoError(t, err)
	assert.Contains(t, text, `"env":"prod"`)
	assert.Contains(t, text, `"clientID":"client"`)
	assert.Contains(t, text, `"agentTLSMode":"strict"`)
	assert.NotContains(t, text, "cattle.io")
	assert.NotContains(t, text, "kubectl")
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

// A07: an import that fails half way leaves the old agent, comes back by itself, and writes nothing anew each time.
func TestAFailedImportIsTriedAgainWithTheSameTokenAndOneCondition(t *testing.T) {
	refused := map[string]string{"one after the hub moved": "/secrets"} // its pod stays as it is
	for name, prepare := range map[string]func(t *testing.T) (*hub, *downstream){
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
	} {
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
	otherCA := base64.StdEncoding.EncodeToString(newCA(t))
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
		"InvalidKubeconfig": kubeconfig(func(s string) string { return strings.Replace(s, "token: a-token", "tokenFile: /etc/passwd", 1) }),
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

func TestAnImportHasATokenOfItsOwnAndLeavesTheStoredCredential(t *testing.T) {
	h, d := joined(t)
	d.Put(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "fleet-agent"}, Data: map[string][]byte{"kubeconfig": []byte("in use")},
	})
	stored := d.Object("Secret", system, "fleet-agent")
	first := h.tokens.Live(workspace, tokenName).UID
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })

	h.work1(t)
	assert.Equal(t, []string{deleteToken, createToken}, h.writes())
	h.answerToken(t)
	h.work1(t)

	assert.Equal(t, []string{noteStatus, noteRecord, noteStatus}, h.writes())
	assert.NotEqual(t, string(first), record(t, h).TokenUID)
	assert.Equal(t, int64(1), *h.cluster().Status.AgentDeployedGeneration)
	assert.Equal(t, stored, d.Object("Secret", system, "fleet-agent"))
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

func TestASecretOnTheClusterIsWrittenOnlyWhenItDiffers(t *testing.T) {
	h, d := newHub(t), newDownstream(t)
	client, err := h.connect(h.client(t, d))
	require.NoError(t, err)
	defer client.Close()
	want := func(value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"k": []byte(value)}}
	}
	require.NoError(t, writeSecret(t.Context(), client, want("a")))
	foreign := d.Object("Secret", "ns", "s")
	foreign.SetLabels(map[string]string{"somebody": "was-here"})
	d.Put(foreign)
	d.Reset()

	require.NoError(t, writeSecret(t.Context(), client, want("a")))
	assert.Empty(t, d.Writes())

	require.NoError(t, writeSecret(t.Context(), client, want("b")))
	assert.Len(t, d.Writes(), 1)
	assert.Equal(t, "was-here", d.Object("Secret", "ns", "s").GetLabels()["somebody"], "what others added stays")
}
