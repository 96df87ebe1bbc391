package badinput_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// agent is one that runs as a process, in a namespace that was prepared by hand, with a token of the hub.
type agent struct {
	*bed
	place
	clientID string
	process  *proc.Process
	// values are the good ones, as single keys of the bootstrap secret.
	values map[string][]byte
}

// agentRow is one bad input of an agent, and what the agent has to say of it in its log, and in an Event for as long as the
// API takes them.
type agentRow struct {
	name  string
	spoil func(t *testing.T, a *agent)
	says  []string
	// calls is how many calls of the hub it may cost within the window.
	calls int
	// mend is what heals beside the good configuration and the good bootstrap secret.
	mend func(t *testing.T, a *agent)
}

// newAgent starts an agent that has a configuration and nothing to register with.
func (b *bed) newAgent(t *testing.T, clientID string) *agent {
	t.Helper()
	a := &agent{bed: b, place: newPlace(), clientID: clientID}
	values, err := b.NewToken(until(t), a.workspace, "token", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	a.values = map[string][]byte{}
	for key, value := range values {
		if text, ok := value.(string); ok {
			a.values[key] = []byte(text)
		}
	}
	ctx, kube := t.Context(), b.edge.Kube
	_, err = kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.agents}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.CoreV1().ServiceAccounts(a.agents).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: a.agents},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.agents, Name: names.AgentAccount}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	a.configure(t, a.config())
	a.process, err = b.StartBareAgent(ctx, b.edge, a.agents, "agent-"+a.agents, "HEARTBEAT_INTERVAL="+heartbeat)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of %s\n%s", a.process.Name, a.process.Tail(60))
		}
		require.True(t, a.process.Running(), "the agent has ended")
		_, err := a.process.Stop(grace)
		require.NoError(t, err)
		soundLog(t, a.process)
	})
	return a
}

// config is a good configuration.
func (a *agent) config() map[string]string {
	return map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, a.clientID)}
}

// configure writes ConfigMap fleet-agent; nil deletes it.
func (a *agent) configure(t *testing.T, data map[string]string) {
	t.Helper()
	maps := a.edge.Kube.CoreV1().ConfigMaps(a.agents)
	if data == nil {
		require.NoError(t, maps.Delete(t.Context(), names.AgentConfigMap, metav1.DeleteOptions{}))
		return
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap}, Data: data}
	_, err := maps.Create(t.Context(), cm, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}

// secret writes a Secret of the agent's namespace.
func (a *agent) secret(t *testing.T, name string, data map[string][]byte) {
	t.Helper()
	secrets := a.edge.Kube.CoreV1().Secrets(a.agents)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}

// forget takes a Secret away.
func (a *agent) forget(t *testing.T, name string) {
	t.Helper()
	err := a.edge.Kube.CoreV1().Secrets(a.agents).Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
}

// bootstrap is the good bootstrap secret with changes; nil takes a key out.
func (a *agent) bootstrap(changes map[string][]byte) map[string][]byte {
	out := maps.Clone(a.values)
	for key, value := range changes {
		if out[key] = value; value == nil {
			delete(out, key)
		}
	}
	return out
}

// log is what the agent has said since a position.
func (a *agent) log(t *testing.T, from int) string {
	t.Helper()
	log, err := os.ReadFile(a.process.Log)
	require.NoError(t, err)
	return string(log[from:])
}

// said waits until one line of the log has all parts.
func (a *agent) said(t *testing.T, from int, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("the agent to say %q", parts), func(context.Context) (bool, string, error) {
		log := a.log(t, from)
		for line := range strings.Lines(log) {
			if containsAll(strings.ReplaceAll(line, `\"`, `"`), parts) {
				return true, "", nil
			}
		}
		return false, log, nil
	})
}

// quietSince says that the agent has called the hub for no more than it may, heartbeats apart.
func (a *agent) quietSince(t *testing.T, seen *watched, r agentRow) {
	t.Helper()
	calls := seen.of("fleet-agent", func(r shim.Request) bool { return r.Namespace == a.workspace || r.Namespace == a.elsewhere() })
	// A report may have been under way when the credential was taken from the agent.
	require.LessOrEqual(t, len(calls), r.calls+1, "%s: calls of the hub\n%s", r.name, strings.Join(calls, "\n"))
}

// ownCalls are those of the agent's own cluster, its election and its Events apart.
func (a *agent) ownCalls(t *testing.T) count.Counts {
	t.Helper()
	counts, err := a.edge.Requests()
	require.NoError(t, err)
	return counts.Where(count.ByUser("system:serviceaccount:"+a.agents+":"+names.AgentAccount)).Without(count.Leases, count.Events)
}

// noSuch begins the names of workspaces that do not exist.
const noSuch = "no-such-"

// elsewhere is a workspace that does not exist, and that no other agent names: tests run side by side.
func (a *agent) elsewhere() string { return noSuch + a.workspace }

// run goes through the rows: bad input, what the agent says, good input, registered.
func (a *agent) run(t *testing.T, rows []agentRow) {
	t.Helper()
	for n, r := range rows {
		a.empty(t)
		from, seen := len(a.log(t, 0)), a.watch()
		r.spoil(t, a)
		a.said(t, from, append(r.says, "level=warning")...)
		if n == 0 || r.calls > 0 || full() {
			before := a.ownCalls(t)
			time.Sleep(window) // the window in which requests are counted
			own := a.ownCalls(t).Sub(before)
			require.LessOrEqual(t, own.Total(), 10, "%s: calls of its own cluster within %s:\n%s", r.name, window, own)
		}
		a.quietSince(t, seen.upTo(a.bed), r)
		from = len(a.log(t, 0))
		if r.mend != nil {
			r.mend(t, a)
		}
		a.configure(t, a.config())
		a.secret(t, names.AgentBootstrapSecret, a.bootstrap(nil))
		a.said(t, from, "Registered as cluster "+a.workspace)
		a.said(t, from, "there is no Secret "+names.AgentBootstrapSecret)
		t.Logf("%s: named and healed", r.name)
	}
	_, err := a.AwaitConnected(until(t), a.workspace, names.RegisteredCluster(a.clientID))
	require.NoError(t, err)
	if !full() {
		t.Logf("reduced: requests of %q counted for %s, of the other rows until they heal; FLEET_TEST_FULL=1 counts all for that long", rows[0].name, window)
	}
}

// empty takes from an agent what it has, and waits until it knows that.
func (a *agent) empty(t *testing.T) {
	t.Helper()
	a.forget(t, names.AgentCredentialStore)
	a.forget(t, names.AgentBootstrapSecret)
	const waits = "no credential is stored; there is no Secret " + names.AgentBootstrapSecret
	await(t, "the agent to wait for a bootstrap secret", func(context.Context) (bool, string, error) {
		log := a.log(t, 0)
		at := strings.LastIndex(log, waits)
		return at >= 0 && !strings.Contains(log[at+len(waits):], "the stored credential works"), log, nil
	})
}

// tells waits for an Event of the agent.
func (a *agent) tells(t *testing.T, reason string, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("an Event %s with %q", reason, parts), func(ctx context.Context) (bool, string, error) {
		events, err := a.edge.Kube.CoreV1().Events(a.agents).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var all []string
		for _, event := range events.Items {
			if event.Reason == reason && containsAll(event.Message, parts) {
				return true, "", nil
			}
			all = append(all, event.Reason+": "+event.Message)
		}
		return false, strings.Join(all, "; "), nil
	})
}
