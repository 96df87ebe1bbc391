package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// boundElsewhere is bound to another key than aRequest has.
func boundElsewhere(c *fleet.Cluster) {
	c.Spec.ClientID = "client-1"
	c.Annotations[names.IdentityAnnotation] = registration.Pin{Fingerprint: strings.Repeat("a", 32), ClusterUID: "uid-before"}.Annotation()
}

func grantedFor(cluster string) func(*fleet.ClusterRegistration) {
	return func(r *fleet.ClusterRegistration) {
		refusedFor("", cluster)(r)
		r.Status.Granted = true
		r.Status.Conditions[0] = conditionNow(fleet.RegistrationConditionGranted, corev1.ConditionTrue, "Granted", "")
	}
}

// A machine that waits to be let in is in no list of clusters.
func TestANewMachineIsShownWithTheClusterThatItWouldBe(t *testing.T) {
	h := newTestHub(t, "")
	allowed := []string{"env"}
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Spec.RequireApproval, t.Spec.AllowedLabels = true, &allowed
	}))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-new", refusedFor(explain.ReasonWaitingForApproval, ""), func(r *fleet.ClusterRegistration) {
		r.Spec.ClusterLabels = map[string]string{"env": "prod", "zone": "a", "fleet.cattle.io/x": "y"}
	}))
	name := names.RegisteredCluster("client-1")
	_, out, _ := typed("registration", "list", "--pending")
	assert.Contains(t, out, "new: "+name)

	code, out, errOut := typed("registration", "approve", "request-new", "--dry-run")
	require.Zero(t, code, errOut)
	assert.Contains(t, cells(out), []string{"new cluster", name})
	assert.Contains(t, cells(out), []string{"  labels asked for", "env=prod, fleet.cattle.io/x=y, zone=a"})
	assert.Contains(t, cells(out), []string{"  not given", "fleet.cattle.io/x, zone"})

	code, out, errOut = typed("cluster", "explain", name)
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "Requested")
}

func TestADecisionIsWrittenAfterItWasShown(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		line   string
		want   fleet.RegistrationApproval
		says   string
	}{
		"approve": {explain.ReasonWaitingForApproval, "approve request-x", fleet.RegistrationApproval{Decision: "approve", By: "jane"}, "Approved by jane."},
		"replace": {explain.ReasonIdentityConflict, "approve request-x --replace --reason rebuilt", fleet.RegistrationApproval{Decision: "replace", By: "jane", Reason: "rebuilt"}, "the old agent loses its access"},
		"deny":    {explain.ReasonIdentityConflict, "deny --reason=stranger request-x", fleet.RegistrationApproval{Decision: "deny", By: "jane", Reason: "stranger"}, "Denied by jane. The request gets nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "")
			cluster := ""
			if test.reason == explain.ReasonIdentityConflict {
				cluster = "edge-1"
				h.put("Cluster", aCluster("fleet-default", "edge-1", boundElsewhere))
			}
			h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(test.reason, cluster)))
			h.Reset()

			code, out, errOut := typed(append([]string{"registration"}, strings.Fields(test.line)...)...)
			require.Zero(t, code, errOut)
			assert.Contains(t, out, test.says)
			for _, shown := range []string{"client-1", "uid-of-the-cluster", "system:serviceaccount:x:y", "because of " + test.reason} {
				assert.Contains(t, out, shown)
			}
			if cluster != "" {
				assert.Contains(t, out, "key "+strings.Repeat("a", 32)+" of cluster UID uid-before")
			}
			got := stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x")
			require.NotNil(t, got.Status.Approval.Time)
			assert.WithinDuration(t, time.Now(), got.Status.Approval.Time.Time, time.Minute)
			got.Status.Approval.Time = nil
			assert.Equal(t, &test.want, got.Status.Approval)
			assert.Len(t, got.Status.Conditions, 1, "what the hub says stays")
			require.Len(t, h.Writes(), 1)
			assert.True(t, strings.HasSuffix(h.Writes()[0].Path, "/clusterregistrations/request-x/status"))
		})
	}
}

func TestAPersonWhomTheHubDoesNotNameIsUnknown(t *testing.T) {
	h := newTestHub(t, "")
	h.identify("")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, "")))
	code, out, errOut := typed("registration", "approve", "request-x", "-o", "json")
	require.Zero(t, code, errOut)
	var request explain.Request
	require.NoError(t, json.Unmarshal([]byte(out), &request), "nothing but the request")
	assert.Equal(t, "unknown", request.Approval.By)
}

func TestDecisionsWithoutSenseWriteNothing(t *testing.T) {
	for name, test := range map[string]struct {
		request func(*fleet.ClusterRegistration)
		line    string
		says    string
	}{
		"no such request":        {nil, "approve request-y", "there is no ClusterRegistration request-y in workspace fleet-default"},
		"without replace":        {refusedFor(explain.ReasonIdentityConflict, "edge-1"), "approve request-x", "ClusterRegistration fleet-default/request-x: it brings another identity"},
		"granted":                {grantedFor("edge-1"), "deny request-x", "--take-back"},
		"refused for good":       {refusedFor(registration.ReasonClusterGone, "edge-1"), "deny request-x", "for good (ClusterGone)"},
		"for another reason":     {refusedFor("TokenUnknown", ""), "approve request-x", "something else (TokenUnknown)"},
		"replace without reason": {refusedFor(explain.ReasonWaitingForApproval, "bound"), "approve request-x --replace", "leave --replace out"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "")
			h.put("Cluster", aCluster("fleet-default", "edge-1", boundElsewhere))
			h.put("Cluster", aCluster("fleet-default", "bound", boundHere))
			if test.request != nil {
				h.put("ClusterRegistration", aRequest("fleet-default", "request-x", test.request))
			}
			code, _, errOut := typed(append([]string{"registration"}, strings.Fields(test.line)...)...)
			assert.Equal(t, 1, code)
			assert.Contains(t, errOut, test.says)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
			assert.Empty(t, h.Writes())
		})
	}
}

// boundHere is bound to the identity that aRequest has.
func boundHere(c *fleet.Cluster) {
	r := aRequest("", "")
	fingerprint, err := registration.Fingerprint(r.Spec.Identity.PublicKey)
	if err != nil {
		panic(err)
	}
	c.Annotations[names.IdentityAnnotation] = registration.Pin{Fingerprint: fingerprint, ClusterUID: r.Spec.Identity.ClusterUID}.Annotation()
}

func TestADryRunDecidesNothing(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, "")))
	code, out, errOut := typed("registration", "approve", "request-x", "--dry-run")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "Nothing was written. Without --dry-run: Approved by jane. The hub grants the request")
	assert.Empty(t, h.Writes())
}

// A merge patch keeps what it does not name.
func TestADecisionTakesNothingOverFromAnEarlierOne(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonDenied, ""), func(r *fleet.ClusterRegistration) {
		r.Status.Approval = &fleet.RegistrationApproval{Decision: "deny", By: "joe", Reason: "nobody knows this machine"}
	}))
	code, _, errOut := typed("registration", "approve", "request-x")
	require.Zero(t, code, errOut)
	approval := stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x").Status.Approval
	assert.Equal(t, "approve", approval.Decision)
	assert.Equal(t, "jane", approval.By)
	assert.Empty(t, approval.Reason)
}

func TestWhatWasGrantedIsTakenBackOnRequest(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", grantedFor("edge-1")))
	code, out, errOut := typed("registration", "deny", "request-x", "--take-back")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "takes back what the request was granted")
	assert.Equal(t, "deny", stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x").Status.Approval.Decision)
}

// The hub writes the same status all the time; that must not lose a decision, nor let it fall on something else.
func TestADecisionHoldsForWhatWasShown(t *testing.T) {
	change := func(then func(*fleet.ClusterRegistration)) (code int, errOut string, h *testHub) {
		h = newTestHub(t, "")
		h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, "")))
		patches := 0
		h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch {
				return false
			}
			if patches++; patches == 1 {
				now := stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x")
				then(now)
				h.put("ClusterRegistration", now)
			}
			return false
		})
		code, _, errOut = typed("registration", "approve", "request-x")
		return code, errOut, h
	}
	code, errOut, h := change(func(r *fleet.ClusterRegistration) { r.Status.Conditions[0].Message = "said in other words" })
	require.Zero(t, code, errOut)
	got := stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x")
	assert.Equal(t, "approve", got.Status.Approval.Decision)
	assert.Equal(t, "said in other words", got.Status.Conditions[0].Message)

	for name, then := range map[string]func(*fleet.ClusterRegistration){
		"another key": func(r *fleet.ClusterRegistration) {
			r.Spec.Identity.PublicKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="
		},
		"another reason": func(r *fleet.ClusterRegistration) { r.Status.Conditions[0].Reason = explain.ReasonIdentityConflict },
		"somebody's no": func(r *fleet.ClusterRegistration) {
			r.Status.Approval = &fleet.RegistrationApproval{Decision: "deny", By: "joe"}
		},
		"other labels":    func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = map[string]string{"env": "prod"} },
		"another cluster": func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "edge-9" },
	} {
		code, errOut, h := change(then)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, errOut, "has changed since it was shown", name)
		approval := stored[fleet.ClusterRegistration](h, "ClusterRegistration", "fleet-default", "request-x").Status.Approval
		assert.True(t, approval == nil || approval.By == "joe", name)
	}
}

func TestWhoMayNotDecideIsTold(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistration", aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, "")))
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, `user "jane" cannot patch clusterregistrations/status`)
		}
		return r.Method == http.MethodPatch
	})
	code, _, errOut := typed("registration", "approve", "request-x")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, `writing status.approval of ClusterRegistration fleet-default/request-x: user "jane" cannot patch`)
}

func TestAnApprovalIsForTheKeyThatWasCompared(t *testing.T) {
	h := newTestHub(t, "")
	r := aRequest("fleet-default", "request-x", refusedFor(explain.ReasonWaitingForApproval, ""))
	h.put("ClusterRegistration", r)
	fingerprint, err := registration.Fingerprint(r.Spec.Identity.PublicKey)
	require.NoError(t, err)
	h.Reset()

	code, _, errOut := typed("registration", "approve", "request-x", "--key", strings.Repeat("b", 32))
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, fingerprint)
	assert.Contains(t, errOut, "nothing was decided")
	assert.Empty(t, h.Writes())

	code, _, errOut = typed("registration", "approve", "request-x", "--key", fingerprint)
	require.Zero(t, code, errOut)
	assert.Len(t, h.Writes(), 1)
}
