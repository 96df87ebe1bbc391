package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// usable is a token that the hub has made ready.
func usable(t *fleet.ClusterRegistrationToken) {
	t.Status.SecretName = t.Name
	t.Status.Expires = &metav1.Time{Time: fixtureNow().Add(12*time.Hour + time.Second)}
	t.Status.Conditions = []genericcondition.GenericCondition{conditionNow(fleet.TokenConditionReady, corev1.ConditionTrue, "", "")}
}

func notReady(reason string) func(*fleet.ClusterRegistrationToken) {
	return func(t *fleet.ClusterRegistrationToken) {
		t.Status.Conditions = []genericcondition.GenericCondition{conditionNow(fleet.TokenConditionReady, corev1.ConditionFalse, reason, "because of "+reason)}
	}
}

// putValues stores the Secret of a token.
func (h *testHub) putValues(namespace, name, values string) {
	owner := stored[fleet.ClusterRegistrationToken](h, "ClusterRegistrationToken", namespace, name)
	h.put("Secret", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			OwnerReferences: []metav1.OwnerReference{{Kind: "ClusterRegistrationToken", Name: name, UID: owner.UID}}},
		Type: names.ValuesSecretType,
		Data: map[string][]byte{registration.KeyValues: []byte(values)},
	})
}

func TestATokenIsMadeAsItWasAskedFor(t *testing.T) {
	for line, want := range map[string]fleet.ClusterRegistrationTokenSpec{
		"edge":                      {TTL: &metav1.Duration{Duration: 24 * time.Hour}},
		"edge --ttl 0":              {},
		"edge --ttl 7d":             {TTL: &metav1.Duration{Duration: 7 * 24 * time.Hour}},
		"--ttl 90m edge":            {TTL: &metav1.Duration{Duration: 90 * time.Minute}},
		"edge --ttl 0 --max-uses 3": {MaxUses: ptr(int32(3))},
		"edge --ttl 0 --cluster-name edge-2 --client-id a,b --client-id c --require-approval": {
			ClusterName: "edge-2", ClientIDs: []string{"a,b", "c"}, RequireApproval: true},
		"edge --ttl 0 --allowed-label env --allowed-label example.com/x": {AllowedLabels: &[]string{"env", "example.com/x"}},
		"edge --ttl 0 --allowed-label=":                                  {AllowedLabels: &[]string{}},
	} {
		t.Run(line, func(t *testing.T) {
			h := newTestHub(t, "")
			code, out, errOut := typed(append([]string{"token", "create"}, strings.Fields(line)...)...)
			require.Zero(t, code, errOut)
			assert.Contains(t, out, "Made token fleet-default/edge for ")
			assert.Contains(t, out, "`(umask 077; fleet token values edge -n fleet-default --wait > values.yaml)`")
			assert.Equal(t, want, stored[fleet.ClusterRegistrationToken](h, "ClusterRegistrationToken", "fleet-default", "edge").Spec)
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestWhatIsAheadIsRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		24*time.Hour - time.Second: "24h", 365*24*time.Hour - time.Minute: "365d", time.Hour - time.Second: "60m", 90 * time.Second: "90s",
	} {
		assert.Equal(t, want, ahead(d))
	}
}

func TestATokenThatExistsIsNotMadeAgain(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge"))
	code, out, errOut := typed("token", "create", "edge")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Equal(t, "fleet: ClusterRegistrationToken fleet-default/edge exists already: take another name, or delete it with `fleet token delete edge -n fleet-default`\n", errOut)
}

func TestAWorkspaceThatIsMissingIsSaid(t *testing.T) {
	h := newTestHub(t, "")
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		kubetest.Fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "nope" not found`)
		return true
	})
	code, _, errOut := typed("token", "create", "edge", "-n", "nope")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "kubectl create namespace nope")
	assert.NotContains(t, errOut, "no hub")
}

func TestCreatingWaitsUntilTheTokenCanBeUsed(t *testing.T) {
	h := newTestHub(t, "")
	looks := 0
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/clusterregistrationtokens/edge") {
			return false
		}
		if looks++; looks == 2 {
			token := stored[fleet.ClusterRegistrationToken](h, "ClusterRegistrationToken", "fleet-default", "edge")
			usable(token)
			token.Status.Conditions[0].Message = "apiServerURL is empty"
			h.put("ClusterRegistrationToken", token)
		}
		return false
	})
	code, out, errOut := typed("token", "create", "edge", "--max-uses", "2", "--wait", "-o", "json")
	require.Zero(t, code, errOut)
	var row tokenRow
	require.NoError(t, json.Unmarshal([]byte(out), &row))
	assert.Equal(t, "Ready", row.State)
	assert.Equal(t, "apiServerURL is empty", row.Message)
	assert.GreaterOrEqual(t, looks, 2)
}

func TestWaitingEndsWhereNothingCanCome(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.ClusterRegistrationToken)
		says   string
	}{
		"the Secret is another's": {notReady(registration.TokenSecretConflict), "not ready: SecretConflict: because of SecretConflict"},
		"no agent could trust":    {notReady(registration.TokenWithoutServerCA), "not ready: NoServerCA: because of NoServerCA\n"},
		"it has ended": {func(t *fleet.ClusterRegistrationToken) {
			t.Status.Expires = &metav1.Time{Time: time.Now().Add(-time.Hour)}
		}, "has ended at"},
		"it is being deleted": {func(t *fleet.ClusterRegistrationToken) {
			t.DeletionTimestamp = ptr(metav1.Now())
			t.Finalizers = []string{"example.com/x"}
		}, "is being deleted"},
		"it takes too long": {notReady(registration.TokenWaitsForAccount), "waited 300ms in vain: ClusterRegistrationToken fleet-default/edge is not ready: WaitingForAccount"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "")
			h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", test.change))
			code, out, errOut := typed("token", "values", "edge", "--wait", "--timeout", "300ms")
			assert.Equal(t, 1, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, test.says)
			assert.Equal(t, 1, strings.Count(errOut, "\n"))
		})
	}
}

func TestOnlyTheValuesGoToStandardOutput(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Status.Conditions[0].Message = "apiServerURL is empty"
	}))
	values := "apiServerURL: \"\"\napiServerCA: |\n  line\n  line\ntoken: eyJ\n"
	h.putValues("fleet-default", "edge", values)

	code, out, errOut := typed("token", "values", "edge")
	assert.Zero(t, code)
	assert.Equal(t, values, out, "as it is, with its lines")
	assert.Contains(t, errOut, "The hub says of token fleet-default/edge: apiServerURL is empty")
}

func TestValuesThatAreNotThereAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testHub)
		says    string
	}{
		"no token":          {func(*testHub) {}, "there is no ClusterRegistrationToken edge in workspace fleet-default, nor in any other; `fleet token list` shows what there is; a token whose TTL is over is deleted"},
		"a token elsewhere": {func(h *testHub) { h.put("ClusterRegistrationToken", aToken("team-a", "edge")) }, "there is no ClusterRegistrationToken edge in workspace fleet-default, but with -n team-a"},
		"not looked at":     {func(h *testHub) { h.put("ClusterRegistrationToken", aToken("fleet-default", "edge")) }, "not looked at it yet; add --wait"},
		"not ready": {func(h *testHub) {
			h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", notReady("WaitingForToken")))
		}, "is not ready: WaitingForToken: because of WaitingForToken; add --wait"},
		"no Secret":           {func(h *testHub) { h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable)) }, "reading Secret fleet-default/edge"},
		"a Secret of another": {foreignValues, "is not of token edge"},
		"a Secret without key": {func(h *testHub) {
			h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable))
			h.putValues("fleet-default", "edge", "")
		}, "has no key values"},
		"a Secret under a path": {func(h *testHub) {
			h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable, func(t *fleet.ClusterRegistrationToken) { t.Status.SecretName = "../x" }))
		}, "is no name of a Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "")
			test.prepare(h)
			code, out, errOut := typed("token", "values", "edge")
			assert.Equal(t, 1, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, test.says)
		})
	}
}

// foreignValues is the Secret of an earlier token of the same name.
func foreignValues(h *testHub) {
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable))
	h.putValues("fleet-default", "edge", "token: old\n")
	h.Remove("ClusterRegistrationToken", "fleet-default", "edge")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", usable))
}

func TestTokensAreListed(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "b", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Spec.ClusterName, t.Spec.RequireApproval, t.Spec.MaxUses = "edge-2", true, ptr(int32(5))
		t.Status.Uses = 2
		t.Status.Conditions[0].Message = "evil \x1b[2J"
	}))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "a", notReady("SecretConflict")))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "c", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Status.Uses = 3
		t.Status.Conditions = append(t.Status.Conditions, conditionNow(fleet.TokenConditionRequestsAccepted, corev1.ConditionFalse, "TooManyRequests", "500 requests"))
	}))
	h.put("ClusterRegistrationToken", aToken("team-a", "import-token-edge-1", usable, func(t *fleet.ClusterRegistrationToken) {
		t.OwnerReferences = []metav1.OwnerReference{{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: "edge-1"}}
	}))

	code, out, errOut := typed("token", "list")
	require.Zero(t, code, errOut)
	assert.Equal(t, [][]string{
		{"WORKSPACE", "NAME", "STATE", "ENDS", "GOOD FOR", "SECRET", "NOTE"},
		{"fleet-default", "a", "SecretConflict", "never", "any cluster", "-", "because of SecretConflict"},
		{"fleet-default", "b", "Ready", "in 12h", "cluster edge-2, who is approved, 2 of 5 used", "b", "evil ?[2J"},
		{"fleet-default", "c", "Ready", "in 12h", "3 used", "c", "TooManyRequests: 500 requests"},
		{"team-a", "import-token-edge-1", "Ready", "in 12h", "import of edge-1", "import-token-edge-1", "-"},
	}, cells(out))

	code, out, _ = typed("token", "list", "-n", "team-a", "-o", "yaml")
	require.Zero(t, code)
	assert.Contains(t, out, "items:\n- created:")
	assert.Contains(t, out, "imports: true")
	code, out, _ = typed("token", "list", "-n", "nope")
	assert.Zero(t, code)
	assert.Equal(t, "There are no registration tokens in workspace nope.\n", out)
	_, out, _ = typed("token", "list", "-n", "nope", "-o", "json")
	assert.JSONEq(t, `{"items":[]}`, out)
}

func TestDeletingATokenDeletesThatOne(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge"))
	h.put("ClusterRegistrationToken", aToken("team-a", "edge"))
	uid := stored[fleet.ClusterRegistrationToken](h, "ClusterRegistrationToken", "fleet-default", "edge").UID
	var conditions []string
	h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			conditions = append(conditions, string(body))
		}
		return false
	})
	code, out, errOut := typed("token", "delete", "edge", "nope", "team-a/edge")
	require.Len(t, conditions, 2)
	assert.Contains(t, conditions[0], string(uid), "not one that was made under the name since")
	assert.Equal(t, 1, code, "one of them does not exist")
	assert.Contains(t, out, "Deleted token fleet-default/edge.")
	assert.Contains(t, out, "Deleted token team-a/edge.")
	assert.Contains(t, errOut, "there is no ClusterRegistrationToken nope")
	assert.Empty(t, h.Names("ClusterRegistrationToken"))
}

// What no agent can have, and a wait of no length, are refused before anything is written.
func TestATokenThatCannotServeAnybodyIsNotMade(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "edge", "--client-id", strings.Repeat("c", 254)}, "may have 253"},
		{[]string{"create", "edge", "--client-id", "a\x01b"}, "which no agent can have"},
		{[]string{"create", "edge", "--client-id", " "}, "is empty"},
		{[]string{"create", "edge", "--wait", "--timeout", "-5s"}, "--timeout is -5s"},
		{[]string{"create", strings.Repeat("n", 254)}, "at most 253"},
		{[]string{"values", "edge", "--wait", "--timeout", "0s"}, "--timeout is 0s"},
	} {
		h := newTestHub(t, "")
		code, out, errOut := typed(append([]string{"token"}, test.args...)...)
		assert.Equal(t, 2, code, test.args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, test.says)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Nil(t, h.Object("ClusterRegistrationToken", "fleet-default", "edge"))
	}
}
