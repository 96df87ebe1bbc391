package pods_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// registry is one whose name images have on all nodes (scripts/e2e).
const registry = "registry.example.com"

func TestAnAgentComesFromTheRegistryThatItsClusterNames(t *testing.T) {
	b := theBed(t)
	c := b.imported()
	before := c.now(t)
	c.change(t, map[string]any{"privateRepoURL": registry, "agentPullSecrets": []any{map[string]any{"name": "pull"}}})
	after := c.rolledOnce(t, before, "from a registry")
	assert.Equal(t, registry+"/"+before.pod.Spec.Containers[0].Image, after.pod.Spec.Containers[0].Image)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, after.pod.Spec.ImagePullSecrets)
	c.change(t, map[string]any{"privateRepoURL": nil, "agentPullSecrets": nil})
	again := c.rolledOnce(t, after, "from where it came before")
	assert.Equal(t, comparable(before.pod), comparable(again.pod))
	assert.Empty(t, again.pod.Spec.ImagePullSecrets)
}

// Two pods of each agent: one leads, the other waits for it to go.
func TestAgentsRunInAsManyPodsAsTheHubSays(t *testing.T) {
	b := theBed(t)
	before := b.values
	c := b.local() // two nodes
	b.install(t, b.with(map[string]any{"agent": map[string]any{"replicas": 2}}))
	await(t, "two pods of the agent that are Ready, of which one leads", func(ctx context.Context) (bool, string, error) {
		found, err := c.at.pods(ctx, c.agents, agentPods)
		if err != nil || len(found) != 2 || !isReady(found[0]) || !isReady(found[1]) {
			return false, describe(found), err
		}
		if stage.GenerationOf(found[0].Spec) != stage.GenerationOf(found[1].Spec) {
			return false, "one of them is of before: " + describe(found), nil
		}
		holder, err := c.leader(ctx)
		return led(holder, found[0].Name) || led(holder, found[1].Name), describe(found) + "; " + holder, err
	})
	b.install(t, before)
	for _, c := range b.clusters() {
		c.connected(t)
	}
}

// An agent moves to the namespace that its Cluster names, and leaves nothing that works where it was.
func TestAnAgentMovesToAnotherNamespace(t *testing.T) {
	b := theBed(t)
	c := b.imported()
	before := c.now(t)
	c.change(t, map[string]any{"agentNamespace": "fleet-agents"})
	moved := *c
	moved.agents = "fleet-agents"
	after := moved.now(t)
	assert.NotEqual(t, before.pod.UID, after.pod.UID)
	assert.Equal(t, "fleet-agents", moved.mustObject(t).Status.Agent.Namespace)
	await(t, "nothing is left of the agent where it was", func(ctx context.Context) (bool, string, error) {
		_, err := c.deployment(ctx)
		if !apierrors.IsNotFound(err) {
			return false, "there is a Deployment", err
		}
		pods, err := c.at.pods(ctx, c.agents, agentPods)
		return len(pods) == 0, describe(pods), err
	})
	c.change(t, map[string]any{"agentNamespace": nil})
	c.now(t)
	_, err := c.at.Kube.AppsV1().Deployments(moved.agents).Get(t.Context(), names.AgentDeployment, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), fmt.Sprint(err))
}
