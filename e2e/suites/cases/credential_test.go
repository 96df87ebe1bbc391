package cases

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// R01: the stored credential dies while the bootstrap secret is long gone.
func TestClusterHealsWhenTheAgentsAccountIsDeleted(t *testing.T) {
	b, p := shared(t), newPlace()
	stillThere := b.userObject(t)
	b.manage(t, p, "edge")
	agent := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	before := b.requests(t, p.workspace)
	require.Len(t, before, 1)

	account := names.Account(before[0].Name, string(before[0].UID))
	require.NoError(t, b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Delete(t.Context(), account, metav1.DeleteOptions{}))

	await(t, "a new registration in place of the dead one", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		ok := len(list) == 1 && list[0].UID != before[0].UID && stage.IsTrue(list[0].Status.Conditions, fleet.RegistrationConditionCredentialUsed)
		return ok, describe(list), err
	})
	cluster := b.connected(t, p, "edge")
	require.True(t, stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionCredentialValid), stage.Conditions(cluster.Status.Conditions))
	require.True(t, agent.Running(), "the agent heals without a restart of its process")
	stillThere()
}

func describe(list []fleet.ClusterRegistration) string {
	out := ""
	for _, r := range list {
		out += r.Name[:16] + stage.Conditions(r.Status.Conditions) + "; "
	}
	return out
}

// R01, of the hub's own cluster, whose kubeconfig and account the hub keeps itself.
func TestLocalClusterHealsWhenItsAgentsAccountIsDeleted(t *testing.T) {
	b := own(t, nil)
	ctx := until(t)
	agent, err := b.StartAgent(ctx, b.Hub, stage.LocalAgentNamespace, "agent-local")
	require.NoError(t, err)
	require.True(t, agent.Running())
	_, err = b.AwaitConnected(ctx, stage.LocalWorkspace, names.LocalCluster)
	require.NoError(t, err)
	before := b.requests(t, stage.LocalWorkspace)
	require.Len(t, before, 1)

	account := names.Account(before[0].Name, string(before[0].UID))
	require.NoError(t, b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Delete(t.Context(), account, metav1.DeleteOptions{}))

	await(t, "a new registration of the local cluster", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, stage.LocalWorkspace)
		ok := len(list) == 1 && list[0].UID != before[0].UID && stage.IsTrue(list[0].Status.Conditions, fleet.RegistrationConditionCredentialUsed)
		return ok, describe(list), err
	})
}

// R02: what the agent was given to register with is dead before it was used.
func TestAgentGetsANewBootstrapWhenItsImportAccountIsGone(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	_, err := b.AwaitAgent(until(t), b.edge, p.agents)
	require.NoError(t, err)
	secrets := b.edge.Kube.CoreV1().Secrets(p.agents)
	var old map[string][]byte
	await(t, "the bootstrap secret", func(ctx context.Context) (bool, string, error) {
		secret, err := secrets.Get(ctx, names.AgentBootstrapSecret, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		old = secret.Data
		return true, "", nil
	})

	require.NoError(t, b.Hub.Dynamic.Resource(stage.Tokens).Namespace(p.workspace).Delete(t.Context(), names.ImportToken("edge"), metav1.DeleteOptions{}))
	await(t, "another token in the bootstrap secret", func(ctx context.Context) (bool, string, error) {
		secret, err := secrets.Get(ctx, names.AgentBootstrapSecret, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return string(secret.Data["token"]) != string(old["token"]), "the old token", nil
	})
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
}

// R02, seen by the agent: it started with the old bootstrap secret and takes the new one up without a restart.
func TestRunningAgentTakesUpTheNewBootstrap(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	_, err := b.AwaitAgent(until(t), b.edge, p.agents)
	require.NoError(t, err)
	await(t, "the import account", func(ctx context.Context) (bool, string, error) {
		_, err := b.edge.Kube.CoreV1().Secrets(p.agents).Get(ctx, names.AgentBootstrapSecret, metav1.GetOptions{})
		return err == nil, "", err
	})
	require.NoError(t, b.Hub.Dynamic.Resource(stage.Tokens).Namespace(p.workspace).Delete(t.Context(), names.ImportToken("edge"), metav1.DeleteOptions{}))
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
}
