package pods_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// An agent that joined by its chart belongs to two releases, the chart's and the one that its bundle made. Both can be
// uninstalled, in the order that people choose, and what bundles deployed stays. The file's name puts it and the next last.
func TestAnAgentOfTwoReleasesIsUninstalledAndTheHubAfterIt(t *testing.T) {
	b := theBed(t)
	c := b.joined()
	c.connected(t)
	require.NoError(t, b.hub.Dynamic.Resource(stage.Clusters).Namespace(c.workspace).Delete(t.Context(), c.name, metav1.DeleteOptions{}))
	await(t, "the Cluster is gone", func(ctx context.Context) (bool, string, error) {
		object, err := stage.Get[fleet.Cluster](ctx, b.hub.Cluster, stage.Clusters, c.workspace, c.name)
		return object == nil, fmt.Sprintf("%+v", object), err
	})
	out := b.remote.helm(t, "uninstall", "fleet-agent", "--namespace", stage.SystemNamespace, "--wait", "--timeout=300s")
	assert.Contains(t, out, "uninstalled")
	await(t, "no pod of the agent", func(ctx context.Context) (bool, string, error) {
		pods, err := b.remote.pods(ctx, c.agents, agentPods)
		return len(pods) == 0, describe(pods), err
	})

	// As Rancher does it: all releases but those whose name ends in crd.
	b.hub.helm(t, "uninstall", "fleet", "--namespace", stage.SystemNamespace, "--wait", "--timeout=300s")
	await(t, "no pod of the hub", func(ctx context.Context) (bool, string, error) {
		pods, err := b.hub.pods(ctx, stage.SystemNamespace, controllerPods)
		return len(pods) == 0, describe(pods), err
	})
	left, err := stage.List[fleet.Cluster](t.Context(), b.hub.Cluster, stage.Clusters, stage.Workspace)
	require.NoError(t, err)
	assert.Len(t, left, 1, "data stays")
	agent := b.edge.onlyPod(t, stage.SystemNamespace, agentPods)
	assert.Zero(t, restarts(agent), "an agent without a hub waits for it")

	// And again: everything is taken up where it was left.
	b.install(t, b.values)
	b.imported().connected(t)
	now := b.edge.onlyPod(t, stage.SystemNamespace, agentPods)
	assert.Equal(t, agent.UID, now.UID)
	_, err = b.edge.Kube.CoreV1().Secrets(stage.SystemNamespace).Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	assert.NoError(t, err)
}

// A cluster that was removed, with its agent, comes back with a new token, whose values helm is given as a file.
func TestARemovedClusterComesBackWithTheValuesOfANewToken(t *testing.T) {
	b := theBed(t)
	values := b.newToken(t, "remote-again")
	b.remote.helm(t, "install", "fleet-agent", chart(t, "fleet-agent"), "--namespace", stage.SystemNamespace, "--create-namespace", "--wait",
		"--timeout=300s", "--values", valuesFile(t, values), "--set", "agentTLSMode=strict", "--set", "image.tag="+oldVersion)
	c := b.joined()
	c.connected(t)
	secrets, err := b.remote.Kube.CoreV1().Secrets(stage.SystemNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, secret := range secrets.Items {
		assert.NotEqual(t, names.AgentBootstrapSecret, secret.Name, "the agent has dropped what it registered with")
	}
}
