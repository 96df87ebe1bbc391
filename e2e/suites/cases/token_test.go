package cases

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func ttl(d time.Duration) fleet.ClusterRegistrationTokenSpec {
	return fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: d}}
}

// R07: a token with a time to live costs nothing while it lives.
func TestAHundredTokensWithATTLKeepQuiet(t *testing.T) {
	b, p := shared(t), newPlace()
	b.workspace(t, p.workspace)
	for i := range 100 {
		require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Tokens, "ClusterRegistrationToken", p.workspace, &fleet.ClusterRegistrationToken{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: fmt.Sprintf("token-%d", i)}, Spec: ttl(12 * time.Hour),
		}))
	}
	await(t, "the values of 100 tokens", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, p.workspace)
		ready := 0
		for _, token := range list {
			if token.Status.SecretName != "" && token.Status.Expires != nil {
				ready++
			}
		}
		return ready == 100, fmt.Sprintf("%d ready", ready), err
	})
	quiet(t, b.Hub, "tokens that live", count.Key.Write)
}

// R07, attack 8: at its end a token goes with all that was made for it.
func TestATokenGoesWithEverythingAtItsEnd(t *testing.T) {
	b, p := shared(t), newPlace()
	b.workspace(t, p.workspace)
	const life = 5 * time.Second
	_, err := b.NewToken(until(t), p.workspace, "short", ttl(life))
	require.NoError(t, err)
	token, err := stage.Get[fleet.ClusterRegistrationToken](t.Context(), b.Hub, stage.Tokens, p.workspace, "short")
	require.NoError(t, err)
	require.NotNil(t, token)
	account := names.Account(token.Name, string(token.UID))

	kube := b.Hub.Kube
	await(t, "everything of the token to be gone", func(ctx context.Context) (bool, string, error) {
		_, secret := kube.CoreV1().Secrets(p.workspace).Get(ctx, "short", metav1.GetOptions{})
		_, sa := kube.CoreV1().ServiceAccounts(stage.RegistrationNamespace).Get(ctx, account, metav1.GetOptions{})
		_, role := kube.RbacV1().Roles(p.workspace).Get(ctx, names.ImportRole(account), metav1.GetOptions{})
		_, binding := kube.RbacV1().RoleBindings(p.workspace).Get(ctx, names.ImportRoleBinding(account), metav1.GetOptions{})
		token, err := stage.Get[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, p.workspace, "short")
		gone := token == nil && apierrors.IsNotFound(secret) && apierrors.IsNotFound(sa) && apierrors.IsNotFound(role) && apierrors.IsNotFound(binding)
		return gone, fmt.Sprintf("token %v, secret %v, account %v, role %v, binding %v", token != nil, secret, sa, role, binding), err
	})
	require.GreaterOrEqual(t, time.Since(token.CreationTimestamp.Time), life, "it ended before its time")
}

// R08: the controller manager, which fills in the token of a secret, is away at first. Nothing waits for it that need not,
// and what has to wait does so by a watch.
func TestTokensNeedNoControllerManagerUnlessTheyNeverEnd(t *testing.T) {
	b, p := own(t, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}}, lab.WithoutControllerManager()), newPlace()
	b.workspace(t, p.workspace)
	_, err := b.NewToken(until(t), p.workspace, "ending", ttl(time.Hour))
	require.NoError(t, err)

	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Tokens, "ClusterRegistrationToken", p.workspace, &fleet.ClusterRegistrationToken{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: "endless"},
	}))
	await(t, "the endless token to say what it waits for", func(ctx context.Context) (bool, string, error) {
		token, err := stage.Get[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, p.workspace, "endless")
		if err != nil || token == nil {
			return false, "", err
		}
		ready := stage.Condition(token.Status.Conditions, fleet.TokenConditionReady)
		return ready != nil && ready.Reason == "WaitingForToken", stage.Conditions(token.Status.Conditions), nil
	})
	quiet(t, b.Hub, "a token that waits for the controller manager")

	require.NoError(t, b.Hub.StartControllerManager(until(t)))
	_, err = b.TokenValues(until(t), p.workspace, "endless")
	require.NoError(t, err)
}

// R08: the hub starts while the controller manager is away, and a cluster joins once it is there.
func TestAClusterJoinsAHubWhoseControllerManagerComesLate(t *testing.T) {
	b, p := own(t, nil, lab.WithoutControllerManager()), newPlace()
	b.manage(t, p, "edge")
	b.agent(t, p, "agent-0")
	require.NoError(t, b.Hub.StartControllerManager(until(t)))
	b.connected(t, p, "edge")
}

// R24: the first bootstrap was wrong; a right one later is taken up by the running agent. The cluster joins by itself.
func TestARightBootstrapAfterAWrongOneIsTakenUp(t *testing.T) {
	b, p := shared(t), newPlace()
	values, err := b.NewToken(until(t), p.workspace, "edge", ttl(time.Hour))
	require.NoError(t, err)
	wrong := map[string]any{}
	for key, value := range values {
		wrong[key] = value
	}
	wrong["apiServerURL"] = "https://127.0.0.1:1"
	b.agentByHand(t, p, "r24", wrong)
	agent := b.agentProcess(t, p, "agent-0")
	awaitEvent(t, b, p, "the agent to say that it does not reach the hub")

	secrets := b.edge.Kube.CoreV1().Secrets(p.agents)
	secret, err := secrets.Get(t.Context(), names.AgentBootstrapSecret, metav1.GetOptions{})
	require.NoError(t, err)
	document, err := yaml.Marshal(values)
	require.NoError(t, err)
	secret.Data = map[string][]byte{"values": document}
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)

	b.connected(t, p, names.RegisteredCluster("r24"))
	require.True(t, agent.Running())
}

// R24: what the agent stored is refused at run time, and a new bootstrap secret helps without a restart.
func TestANewBootstrapHelpsAnAgentWhoseCredentialIsDead(t *testing.T) {
	b, p := shared(t), newPlace()
	values, err := b.NewToken(until(t), p.workspace, "edge", ttl(time.Hour))
	require.NoError(t, err)
	b.agentByHand(t, p, "r24-dead", values)
	agent := b.agentProcess(t, p, "agent-0")
	name := names.RegisteredCluster("r24-dead")
	b.connected(t, p, name)
	before := b.requests(t, p.workspace)
	require.Len(t, before, 1)

	account := names.Account(before[0].Name, string(before[0].UID))
	require.NoError(t, b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Delete(t.Context(), account, metav1.DeleteOptions{}))
	_, err = b.AwaitCluster(until(t), p.workspace, name, "credential dead", func(c *fleet.Cluster) bool {
		condition := stage.Condition(c.Status.Conditions, fleet.ClusterConditionCredentialValid)
		return condition != nil && condition.Status == corev1.ConditionFalse
	})
	require.NoError(t, err)

	// Until it has noticed, the agent takes the secret for one that a chart's upgrade wrote again, and removes it.
	awaitEvent(t, b, p, "the agent to notice that its credential is refused")
	require.NoError(t, b.edge.WriteBootstrap(t.Context(), p.agents, values))
	await(t, "a new registration", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		return len(list) == 1 && list[0].UID != before[0].UID && stage.IsTrue(list[0].Status.Conditions, fleet.RegistrationConditionCredentialUsed), describe(list), err
	})
	require.True(t, agent.Running())
}
