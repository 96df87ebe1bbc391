package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

var update = flag.Bool("update", false, "write the golden files")

const digestInUse = "0123456789abcdef"

// joined puts everything that a hub has of a cluster whose agent is connected.
func (h *testHub) joined(namespace, name string) {
	place := names.ClusterNamespace(namespace, name)
	key, err := registration.Fingerprint(aRequest("", "").Spec.Identity.PublicKey)
	require.NoError(h.t, err)
	pin := registration.Pin{Fingerprint: key, ClusterUID: "uid-of-the-cluster"}
	h.put("Cluster", aCluster(namespace, name, func(c *fleet.Cluster) {
		c.Spec.ClientID = "client-1"
		c.Annotations[names.IdentityAnnotation] = pin.Annotation()
		c.Status.Namespace = place
		c.Status.Agent = fleet.AgentStatus{Version: "v1.2.3"}
		for _, kind := range []string{fleet.ClusterConditionProcessed, fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid} {
			c.Status.Conditions = append(c.Status.Conditions, conditionNow(kind, corev1.ConditionTrue, "", ""))
		}
	}))
	h.put("ClusterRegistration", aRequest(namespace, "request-used", grantedFor(name), func(r *fleet.ClusterRegistration) {
		r.Status.Credentials = []fleet.CredentialRecord{{Digest: digestInUse, Type: registration.TypeTokenRequest, Used: true,
			Issued: ptr(metav1.NewTime(fixtureNow().Add(-5 * time.Minute))), Expires: ptr(metav1.NewTime(fixtureNow().Add(90 * 24 * time.Hour)))}}
		r.Status.Conditions = append(r.Status.Conditions, conditionNow(fleet.RegistrationConditionCredentialUsed, corev1.ConditionTrue, "", ""))
	}))
	holder := registration.Holder{Instance: "fleet-agent-x", Fingerprint: key, Digest: digestInUse}.String()
	h.put("Lease", &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: names.HeartbeatLease, Annotations: map[string]string{
			names.ClusterAnnotation: name, names.ClusterNamespaceAnnotation: namespace}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: ptr(metav1.NewMicroTime(fixtureNow().Add(-3 * time.Second)))},
	})
	h.put("ConfigMap", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.DefaultSystemNamespace, Name: names.ControllerConfigMap},
		Data:       map[string]string{names.ConfigKey: `{"apiServerURL":"https://hub.example.com:6443"}`},
	})
}

// conflicting is somebody else who claims the cluster.
func (h *testHub) conflicting(namespace, cluster string) {
	h.put("ClusterRegistration", aRequest(namespace, "request-other", refusedFor(explain.ReasonIdentityConflict, cluster), func(r *fleet.ClusterRegistration) {
		r.Spec.Identity.PublicKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="
		r.CreationTimestamp = metav1.NewTime(fixtureNow().Add(-2 * time.Minute))
	}))
}

// golden compares what people read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestExplainTellsWhatAPersonHasToKnow(t *testing.T) {
	for name, prepare := range map[string]func(*testHub){
		"connected": func(h *testHub) { h.joined("fleet-default", "edge-1") },
		"conflict": func(h *testHub) {
			h.joined("fleet-default", "edge-1")
			h.conflicting("fleet-default", "edge-1")
		},
		"wouldbe": func(h *testHub) {
			h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable, func(t *fleet.ClusterRegistrationToken) {
				t.Spec.ClusterName, t.Spec.RequireApproval = "edge-1", true
			}))
			h.put("ClusterRegistration", aRequest("fleet-default", "request-new", refusedFor(explain.ReasonWaitingForApproval, "")))
		},
		"blocked": func(h *testHub) {
			h.put("Cluster", aCluster("fleet-default", "edge-1", imports, func(c *fleet.Cluster) {
				c.CreationTimestamp = metav1.NewTime(fixtureNow().Add(-5 * time.Minute))
				c.Status.Namespace = "cluster-x"
				c.Status.Conditions = []genericcondition.GenericCondition{
					conditionNow(fleet.ClusterConditionProcessed, corev1.ConditionTrue, "", ""),
					conditionNow(fleet.ClusterConditionImported, corev1.ConditionFalse, "Unreachable", "the cluster cannot be reached: \x1b[31mdial tcp\n10.0.0.1:6443"),
				}
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			atNow(t)
			h := newTestHub(t, "", withEvents()...)
			prepare(h)
			person, err := newHub(h.kubeconfig, "")
			require.NoError(t, err)
			facts, err := factReader{hub: person, ctx: t.Context(), system: names.DefaultSystemNamespace, now: now}.facts(object{"fleet-default", "edge-1"}, false)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, printExplanation(&out, explain.Explain(facts), now))
			assert.NotContains(t, out.String(), "\x1b")
			golden(t, "explain-"+name, out.String())
		})
	}
}

func withEvents() []kubetest.Kind {
	event := kubetest.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Resource: "events", Namespaced: true}
	return append(kubetest.HubKinds(), event)
}

// Who may read the Cluster alone is told the rest of it, and what is unknown.
func TestExplainWorksForWhoMayReadOnlyPart(t *testing.T) {
	for name, parts := range map[string][]string{
		"no leases":    {"/leases"},
		"no secrets":   {"/secrets", "/configmaps"},
		"no tokens":    {"/clusterregistrationtokens"},
		"no requests":  {"/clusterregistrations"},
		"all but that": {"/leases", "/secrets", "/configmaps", "/clusterregistrationtokens", "/clusterregistrations", "/events", "/namespaces/fleet-default/events"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "", withEvents()...)
			h.joined("fleet-default", "edge-1")
			h.identify("jane", forbids(parts...))
			code, out, errOut := typed("cluster", "explain", "edge-1", "-o", "json")
			require.Zero(t, code, errOut)
			var e explain.Explanation
			require.NoError(t, json.Unmarshal([]byte(out), &e))
			assert.Equal(t, registration.StateConnected, e.State)
			assert.NotEmpty(t, e.Next)
			for _, part := range parts {
				if part == "/leases" {
					assert.Contains(t, strings.Join(e.Unknown, "\n"), "you may not get leases")
				}
			}
		})
	}
}

func TestExplainOfWhatDoesNotExist(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("team-a", "twin"))
	h.put("Cluster", aCluster("team-b", "twin"))
	code, out, errOut := typed("cluster", "explain", "nope")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Equal(t, "fleet: there is no Cluster nope in workspace fleet-default, nor in any other; `fleet cluster list` shows what there is\n", errOut)

	code, _, errOut = typed("cluster", "explain", "twin")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "but with -n team-a, -n team-b")
}

func TestExplainFindsTheOnlyClusterOfAName(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-local", "local"))
	code, out, errOut := typed("cluster", "explain", "local")
	require.Zero(t, code, errOut)
	assert.True(t, strings.HasPrefix(out, "Cluster fleet-local/local: "), out)

	code, out, _ = typed("cluster", "explain", "fleet-local/local")
	assert.Zero(t, code)
	assert.True(t, strings.HasPrefix(out, "Cluster fleet-local/local: "), out)

	code, _, errOut = typed("cluster", "explain", "local", "-n", "fleet-default")
	assert.Equal(t, 1, code, "whoever names a workspace means that one")
	assert.Contains(t, errOut, "but with -n fleet-local")
}

func TestWhatIsNoHubIsSaid(t *testing.T) {
	newTestHub(t, "", kubetest.HubKinds("Cluster", "ClusterRegistration", "ClusterRegistrationToken")...)
	for _, line := range []string{"cluster list", "cluster explain a", "cluster redeploy a", "token list", "token create a", "token values a", "registration list", "registration approve a"} {
		code, _, errOut := typed(strings.Fields(line)...)
		assert.Equal(t, 1, code, line)
		assert.Contains(t, errOut, "this cluster is no hub", line)
	}
}

// The hub's address and CA come from its configuration, else from the values of the token; the token itself is not told.
func TestExplainReadsTheHubsAddressFromTheValues(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable, func(t *fleet.ClusterRegistrationToken) { t.Spec.ClusterName = "edge-1" }))
	h.putValues("fleet-default", "edge", "apiServerURL: https://hub.example.com\ntoken: eyJsecret\nclusterNamespace: fleet-default\nsystemRegistrationNamespace: x\n")
	h.put("Cluster", aCluster("fleet-default", "edge-1", func(c *fleet.Cluster) {
		c.Spec.ClientID, c.Status.Namespace = "client-1", "cluster-x"
		c.Status.Conditions = []genericcondition.GenericCondition{conditionNow(fleet.ClusterConditionProcessed, corev1.ConditionTrue, "", "")}
	}))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, "edge-1")))
	code, out, errOut := typed("cluster", "explain", "edge-1", "-o", "yaml")
	require.Zero(t, code, errOut)
	assert.NotContains(t, out, "hub's address and CA:", "it was read")
	assert.NotContains(t, out, "eyJsecret")
}

func TestExplainShowsWarningsOfTheHub(t *testing.T) {
	h := newTestHub(t, "", withEvents()...)
	h.joined("fleet-default", "edge-1")
	for _, about := range []string{"edge-1", "edge-2"} {
		h.put("Event", &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "e-" + about}, Type: corev1.EventTypeWarning, Reason: "Because", Message: "of " + about,
			InvolvedObject: corev1.ObjectReference{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: about}, LastTimestamp: metav1.Now(),
		})
	}
	h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
		query := r.URL.Query()
		if strings.HasSuffix(r.URL.Path, "/events") {
			assert.Equal(t, "type=Warning", query.Get("fieldSelector"))
			assert.NotEmpty(t, query.Get("limit"))
		}
		return false
	})
	code, out, errOut := typed("cluster", "explain", "edge-1")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "Because: of edge-1")
	assert.NotContains(t, out, "of edge-2")
}

// The same is not told three times: by the request, by the condition, and by the Event of it.
func TestExplainRepeatsNothing(t *testing.T) {
	h := newTestHub(t, "", withEvents()...)
	h.joined("fleet-default", "edge-1")
	h.conflicting("fleet-default", "edge-1")
	h.put("Event", &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "e"}, Type: corev1.EventTypeWarning, Reason: "IdentityConflict",
		Message:        "Granted=False: because of IdentityConflict",
		InvolvedObject: corev1.ObjectReference{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "ClusterRegistration", Name: "request-other"},
	})
	_, out, _ := typed("cluster", "explain", "edge-1")
	assert.Equal(t, 1, strings.Count(out, "because of IdentityConflict"), out)
}
