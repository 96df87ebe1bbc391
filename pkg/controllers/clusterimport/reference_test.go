package clusterimport

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// hubIn has the hub run in a namespace of its own, with the import token of the cluster answered.
func hubIn(t *testing.T, namespace string) (*hub, *downstream) {
	t.Helper()
	h, d := importing(t)
	h.Names = names.NamespacesOf(namespace)
	h.Settings = func(c config.Config) agentmanifest.Settings {
		s := settings(c)
		s.SystemNamespace = namespace
		return s
	}
	h.work1(t)
	h.answerToken(t)
	values := h.secrets.Live(workspace, tokenName)
	document := strings.Replace(string(values.Data[registration.KeyValues]), hubNames().Registration, h.Names.Registration, 1)
	values.Data[registration.KeyValues] = []byte(document)
	h.secrets.Add(values)
	account := h.accounts.Live(hubNames().Registration, names.Account(tokenName, string(h.tokens.Live(workspace, tokenName).UID)))
	account.Namespace = h.Names.Registration
	h.accounts.Add(account)
	return h, d
}

// The reference's cases of TestCleanupLeftoverDefaultNamespace, the other way round: what an import of this Cluster did not
// make is nobody's leftover. It may be another hub's, or the cluster may be a hub itself.
func TestWhatAnImportDidNotMakeIsNoLeftover(t *testing.T) {
	for _, namespace := range []string{system, "hub-system", "fleet-system"} {
		t.Run(namespace, func(t *testing.T) {
			h, d := hubIn(t, namespace)
			foreign := append(everything("another-system"), others("another-system")...)
			if namespace != system {
				foreign = append(append(foreign, everything(system)...), others(system)...)
			}
			kind := metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
			for _, name := range []string{"cattle-fleet-clusters-system", "fleet-clusters-system"} {
				foreign = append(foreign, &corev1.Namespace{TypeMeta: kind, ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			d.put(foreign...)
			before := d.objects()

			h.work1(t)
			h.change(t, connectedNow(h))
			for range 3 {
				h.work1(t)
			}

			assert.Equal(t, "Imported", h.imported(t).Reason)
			assert.Contains(t, d.objects(), "Deployment "+namespace+"/fleet-agent")
			assert.Subset(t, d.objects(), before)
		})
	}
}

// The reference's cases of TestOnConfig that are about what is missing: nothing else that changes counts then.
func TestNoImportIsDueWhileItCannotSucceed(t *testing.T) {
	tls := func(f *facts) { f.config.AgentTLSMode = config.TLSSystemStore }
	for name, missing := range map[string]func(*facts){
		"no address":    func(f *facts) { f.config.APIServerURL = "" },
		"no secret":     func(f *facts) { f.secret = nil },
		"no kubeconfig": func(f *facts) { f.secret = kubeconfigSecret(nil) },
	} {
		assert.Equal(t, plan{}, decide(factsOf(cluster(imported), missing, tls)), name)
		assert.Equal(t, await, decide(factsOf(cluster(), missing, tls)).action, name)
	}
	assert.Equal(t, install, decide(factsOf(cluster(imported), tls)).action, "once it can")

	h := newHub(t)
	require.NoError(t, h.onConfig(t.Context(), testConfig()), "no clusters")
	assert.Empty(t, h.writes())
}

// The reference's cases of TestIsManagementCluster: no answer, and an answer that says nothing, prove nothing.
func TestAClusterThatDoesNotSayWhoItIsKeepsItsAgent(t *testing.T) {
	nameless, err := json.Marshal(corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
	require.NoError(t, err)
	for name, answer := range map[string]http.HandlerFunc{
		"without a UID": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_, _ = w.Write(nameless)
		},
		"not found": func(w http.ResponseWriter, _ *http.Request) {
			kubetest.Fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no")
		},
		"forbidden": func(w http.ResponseWriter, _ *http.Request) {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := localHub(t, func(*downstream) string { return "" })
			before := d.objects()
			d.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
					return false
				}
				answer(w, r)
				return true
			})
			require.ErrorContains(t, h.work(t.Context(), localKey), "kube-system", "it is tried again")
			assert.Equal(t, []string{"updateStatus Cluster " + localKey}, h.writes(), "the failure is shown, and the bundle stays")
			assert.Equal(t, before, d.objects())
			assert.Empty(t, d.Writes())
		})
	}
}

// The reference's cases of TestOnChange_LocalAgentDisabledShortCircuits and TestImportCluster_LocalAgentDisabled.
func TestALocalAgentThatIsSwitchedOffIsNotPutThere(t *testing.T) {
	h, d := localHub(t, func(d *downstream) string { return d.uid })
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Namespace, c.Name = "fleet-local", "local" }))
	h.writes()
	before := d.objects()

	c, err := h.clusters.Cache().Get("fleet-local", "local")
	require.NoError(t, err)
	got, err := h.onChange(localKey, c)
	require.NoError(t, err)
	assert.Same(t, c, got)
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Empty(t, h.writes())
	assert.Empty(t, d.Requests())

	h.clusters.Add(cluster(imported, func(c *fleet.Cluster) { c.Namespace, c.Name, c.Spec.KubeConfigSecret = "fleet-local", "local", "" }))
	require.NoError(t, h.work(t.Context(), localKey))
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Equal(t, []string{"updateStatus Cluster " + localKey}, h.writes(), "it was put there, and nobody says how to reach it: that is said once")
	status := h.clusters.Live("fleet-local", "local").Status
	assert.NotNil(t, status.AgentDeployedGeneration)
	assert.Equal(t, before, d.objects())
	said := conditions.GetCondition(status.Conditions, fleet.ClusterConditionImported)
	require.NotNil(t, said)
	assert.Equal(t, "KubeconfigMissing", said.Reason)
	assert.Contains(t, said.Message, "spec.kubeConfigSecret is empty")
}
