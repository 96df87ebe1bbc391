package handshake

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// window is how long nothing must happen where a test says so.
const window = 5 * time.Second

// writesBy are the mutating requests of a client since a request number, elections and events apart.
func writesBy(front *shim.TLS, client string, since int) []shim.Request {
	return slices.DeleteFunc(front.Requests(), func(r shim.Request) bool {
		return r.Number <= since || !r.Key.Write() || !count.By(client)(r.Key) || count.Leases(r.Key) || count.Events(r.Key)
	})
}

// R04: what was saved of a registration token that has ended is refused with a reason that says what to do, without a storm
// of requests; a new one ends the wait.
func TestASavedManifestWithADeadTokenSaysSo(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	byAgent{}.prepare(t, b, p)
	byAgent{}.begin(t, b, p)
	byAgent{}.beforeAgent(t, b, p) // the manifest, with the token's values
	b.deleteAndAwait(t, stage.Tokens, p.workspace, p.token)
	awaitNoAccounts(t, b, p)

	agent := b.agent(t, byAgent{}, p)
	message := b.warning(t, p, "BootstrapTokenRefused")
	require.Contains(t, message, names.AgentBootstrapSecret)
	require.NotContains(t, message, "eyJ")
	since := lastNumber(b.hubFront)
	time.Sleep(window) // the window in which the agent has to be quiet
	tries := slices.DeleteFunc(b.hubFront.Requests(), func(r shim.Request) bool {
		return r.Number <= since || r.Namespace != p.workspace || !count.By(fleetAgent)(r.Key)
	})
	require.LessOrEqual(t, len(tries), 2, "%v", tries)

	// The remedy that the message names: the values of a new token.
	require.NoError(t, b.edge.Kube.CoreV1().Secrets(p.agents).Delete(t.Context(), names.AgentBootstrapSecret, metav1.DeleteOptions{}))
	byAgent{}.begin(t, b, p)
	byAgent{}.beforeAgent(t, b, p)
	t.Cleanup(func() { b.discard(t, p) })
	b.connected(t, p)
	require.Zero(t, agent.crashes)
	b.request(t, p)
}

// awaitNoAccounts waits until no import account of a workspace is left.
func awaitNoAccounts(t *testing.T, b *bed, p place) {
	t.Helper()
	await(t, "the end of the import accounts of "+p.workspace, func(ctx context.Context) (bool, string, error) {
		list, err := b.Hub.Kube.CoreV1().ServiceAccounts(stage.RegistrationNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		for _, account := range list.Items {
			if owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation]); ok && owner.Namespace == p.workspace {
				return false, account.Name, nil
			}
		}
		return true, "", nil
	})
}

// R04: the end of an import token is no matter of the agent's: its Deployment, its registration and its process stay.
func TestTheEndOfAnImportTokenRollsNoAgent(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	agent := b.join(t, byManager{}, p)
	request := b.request(t, p)
	before := b.deployment(t, p)
	pid := agent.pid()

	since := lastNumber(b.edgeFront)
	b.deleteAndAwait(t, stage.Tokens, p.workspace, names.ImportToken(p.cluster))
	awaitNoAccounts(t, b, p)
	time.Sleep(window) // the window in which nothing may be written to the agent's namespace
	for _, r := range writesBy(b.edgeFront, controllerAgent, since) {
		require.NotEqual(t, p.agents, r.Namespace, "%s", r)
	}
	require.Equal(t, before, b.deployment(t, p))
	require.Equal(t, request.UID, b.request(t, p).UID)
	require.Equal(t, pid, agent.pid())
	b.connected(t, p)
}

// R04: one field gives the agent something new to register with, on demand, though what it was given is dead.
func TestOneFieldIssuesTheBootstrapAgain(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	byManager{}.prepare(t, b, p)
	byManager{}.begin(t, b, p)
	t.Cleanup(func() { b.discard(t, p) })
	_, err := b.AwaitCluster(until(t), p.workspace, p.cluster, "imported", func(c *fleet.Cluster) bool {
		return stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionImported)
	})
	require.NoError(t, err)
	saved := b.bootstrap(t, p)
	agent := b.agent(t, byManager{}, p)
	b.connected(t, p)
	first := b.request(t, p)
	b.deleteAndAwait(t, stage.Tokens, p.workspace, names.ImportToken(p.cluster))
	awaitNoAccounts(t, b, p)

	// Somebody removes the agent and applies the old manifest by hand.
	require.NoError(t, agent.end())
	secrets := b.edge.Kube.CoreV1().Secrets(p.agents)
	for _, name := range []string{names.AgentCredentialStore, names.AgentIdentitySecret} {
		require.NoError(t, secrets.Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	_, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret}, Data: saved}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, agent.up(until(t)))
	// The API server knows a token for some seconds more than its account: until then it forbids instead of refusing.
	b.warning(t, p, "RegistrationFailed", "BootstrapTokenRefused")

	_, err = b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace).Patch(t.Context(), p.cluster, types.MergePatchType,
		[]byte(`{"spec":{"redeployAgentGeneration":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	b.request(t, p, first)
	cluster := b.connected(t, p)
	require.NotNil(t, cluster.Status.AgentDeployedGeneration)
	require.EqualValues(t, 1, *cluster.Status.AgentDeployedGeneration)
}

// bootstrap is what an agent was given to register with.
func (b *bed) bootstrap(t *testing.T, p place) map[string][]byte {
	t.Helper()
	secret, err := b.edge.Kube.CoreV1().Secrets(p.agents).Get(t.Context(), names.AgentBootstrapSecret, metav1.GetOptions{})
	require.NoError(t, err)
	return maps.Clone(secret.Data)
}

// deployment is what would roll an agent.
func (b *bed) deployment(t *testing.T, p place) [2]any {
	t.Helper()
	d, err := b.edge.Kube.AppsV1().Deployments(p.agents).Get(t.Context(), names.AgentDeployment, metav1.GetOptions{})
	require.NoError(t, err)
	template, err := json.Marshal(d.Spec.Template) // Helm's annotations alone raise the generation
	require.NoError(t, err)
	return [2]any{d.UID, string(template)}
}
