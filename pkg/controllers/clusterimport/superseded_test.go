package clusterimport

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

func superseded(r *registration.Import) { r.Superseded = true }

// bootstrapToken is what the agent was given last.
func (d *downstream) bootstrapToken(t *testing.T) string {
	t.Helper()
	data, _, err := unstructured.NestedStringMap(d.Object("Secret", system, "fleet-agent-bootstrap").Object, "data")
	require.NoError(t, err)
	return string(decoded(t, data)["token"])
}

// passing is what makes an import due, and what makes it due no more.
type passing struct {
	begin, end func(*testing.T, *hub, *downstream)
	attempts   int
}

func passingReasons() map[string]passing {
	change := func(f func(*fleet.Cluster)) func(*testing.T, *hub, *downstream) {
		return func(t *testing.T, h *hub, _ *downstream) { t.Helper(); h.change(t, f) }
	}
	conf := func(changes map[string]any) func(*testing.T, *hub, *downstream) {
		return func(t *testing.T, h *hub, _ *downstream) { t.Helper(); h.configure(t, changes) }
	}
	secret := func(note string) func(*testing.T, *hub, *downstream) {
		return func(_ *testing.T, h *hub, d *downstream) {
			h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: append([]byte(note), d.kubeconfig...)}))
		}
	}
	no := func(kind, reason string) func(*testing.T, *hub, *downstream) {
		return func(t *testing.T, h *hub, _ *downstream) {
			t.Helper()
			h.clock.SetTime(h.clock.Now().Add(time.Hour))
			h.change(t, is(kind, metav1.ConditionFalse, reason, h.clock.Now()))
		}
	}
	again := func(t *testing.T, h *hub, _ *downstream) { t.Helper(); h.change(t, connectedNow(h)) }
	return map[string]passing{
		"silence":                   {no(fleet.ClusterConditionAgentConnected, "Silent"), again, 1},
		"a dead credential":         {no(fleet.ClusterConditionCredentialValid, "AccountReplaced"), again, 1},
		"redeployAgentGeneration":   {change(func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 }), change(func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 0 }), 0},
		"agentConfigChanged":        {change(func(c *fleet.Cluster) { c.Status.AgentConfigChanged = true }), change(func(c *fleet.Cluster) { c.Status.AgentConfigChanged = false }), 0},
		"agentNamespace":            {change(func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" }), change(func(c *fleet.Cluster) { c.Spec.AgentNamespace = "" }), 0},
		"the hub's address":         {conf(map[string]any{"apiServerURL": "https://moved.example.com"}), conf(nil), 0},
		"the hub's CA":              {conf(map[string]any{"apiServerCA": caOf("another")}), conf(nil), 0},
		"agentTLSMode":              {conf(map[string]any{"agentTLSMode": "system-store"}), conf(nil), 0},
		"garbageCollectionInterval": {conf(map[string]any{"garbageCollectionInterval": "1h"}), conf(nil), 0},
		"another kubeconfig and no agent": {func(t *testing.T, h *hub, d *downstream) {
			d.Remove("Deployment", system, "fleet-agent")
			secret("# new\n")(t, h, d)
		}, secret(""), 0},
	}
}

// R17, R02: an import that has taken away what the agent was given, and whose reason passes before its end, is made all the
// same: an agent that had not used that yet would be left with a token that is dead.
func TestAnImportThatHasTakenTheTokenAwayIsMadeToItsEnd(t *testing.T) {
	for name, reason := range passingReasons() {
		t.Run(name, func(t *testing.T) {
			h, d := joined(t)
			before := record(t, h)
			reason.begin(t, h, d)
			h.work1(t)
			assert.Equal(t, []string{noteRecord, deleteToken, createToken}, h.writes(), "it is noted before it is done")
			assert.True(t, record(t, h).Superseded)

			reason.end(t, h, d)
			h.work1(t)
			assert.Empty(t, h.writes(), "it waits for its token")
			h.answerToken(t)
			h.work1(t)

			token := h.tokens.Live(workspace, tokenName)
			assert.Equal(t, "Imported", h.imported(t).Reason)
			assert.NotEqual(t, before.TokenUID, string(token.UID))
			assert.Equal(t, string(token.UID), record(t, h).TokenUID)
			assert.Equal(t, jwt("account-of-"+string(token.UID)), d.bootstrapToken(t), "the one that lives")
			assert.False(t, record(t, h).Superseded, "this one counts")
			assert.Equal(t, reason.attempts, record(t, h).Attempts)

			h.change(t, connectedNow(h))
			d.Reset()
			for range 3 {
				h.work1(t)
			}
			assert.Empty(t, h.writes())
			assert.Empty(t, d.Requests())
		})
	}
}

// The hub may end after each of the steps, and what made the import due passes meanwhile.
func TestATokenThatIsTakenAwayIsReplacedWhereverTheHubEnds(t *testing.T) {
	for _, step := range []string{noteRecord, deleteToken, createToken} {
		t.Run(step, func(t *testing.T) {
			h, d := joined(t)
			before := d.bootstrapToken(t)
			h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
			h.fails[step] = http.ErrAbortHandler
			require.Error(t, h.work(t.Context(), key))
			delete(h.fails, step)
			h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 0 })
			h.work1(t)
			if step == noteRecord {
				assert.Empty(t, deletedTokens(h), "nothing was taken away, and nothing is")
				assert.Equal(t, before, d.bootstrapToken(t))
				return
			}
			h.answerToken(t)
			h.work1(t)
			assert.Equal(t, "Imported", h.imported(t).Reason)
			assert.Equal(t, jwt("account-of-"+record(t, h).TokenUID), d.bootstrapToken(t))
			assert.NotEqual(t, before, d.bootstrapToken(t))
		})
	}
}

func deletedTokens(h *hub) (out []string) {
	for _, call := range h.writes() {
		if strings.HasPrefix(call, "delete Token") {
			out = append(out, call)
		}
	}
	return out
}

// What cannot be replaced is not taken away: the cluster is looked at first.
func TestAClusterThatCannotBeReachedKeepsWhatItsAgentWasGiven(t *testing.T) {
	for name, refuse := range map[string]func(*testing.T, *downstream){
		"no answer": func(_ *testing.T, d *downstream) {
			d.Intercept(func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) })
		},
		"it is another's": func(t *testing.T, d *downstream) {
			t.Helper()
			d.mark(t, system, `{"hub":"another","cluster":"c","namespace":"n","name":"m"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := joined(t)
			token := h.tokens.Live(workspace, tokenName).UID
			h.clock.SetTime(h.clock.Now().Add(time.Hour))
			h.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", h.clock.Now()))
			refuse(t, d)
			for range 3 {
				_ = h.work(t.Context(), key)
			}
			assert.Equal(t, []string{noteStatus}, h.writes())
			assert.Equal(t, token, h.tokens.Live(workspace, tokenName).UID)

			d.Intercept(nil)
			h.change(t, connectedNow(h))
			h.work1(t)
			assert.Equal(t, "Imported", h.imported(t).Reason, "the agent is back, and what it has is good")
			assert.Empty(t, deletedTokens(h))
		})
	}
}
