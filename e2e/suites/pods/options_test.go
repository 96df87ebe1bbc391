package pods_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// Everything that a person can ask for an agent is in its running pod, which was replaced once for it, and is gone again
// when it is not asked for any more. Rancher's own tests look at the same (docs/rancher.md).
func TestOptionsOfAnAgentAreInItsPodAndGoAgain(t *testing.T) {
	b := theBed(t)
	c := b.imported()
	before := c.now(t)
	c.change(t, map[string]any{
		"agentEnvVars":     []any{map[string]any{"name": "SAID", "value": "yes"}},
		"agentTolerations": []any{map[string]any{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}},
		"agentResources":   map[string]any{"limits": map[string]any{"memory": "700Mi"}, "requests": map[string]any{"cpu": "11m"}},
		"agentAffinity": map[string]any{"nodeAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
			"weight": 7, "preference": map[string]any{"matchExpressions": []any{map[string]any{"key": "disk", "operator": "In", "values": []any{"ssd"}}}},
		}}}},
		"agentSchedulingCustomization": map[string]any{
			"priorityClass":       map[string]any{"value": 1234, "preemptionPolicy": "Never"},
			"podDisruptionBudget": map[string]any{"minAvailable": "1"},
		},
	})
	after := c.rolledOnce(t, before, "options were set")
	spec := after.pod.Spec
	assert.Contains(t, spec.Containers[0].Env, corev1.EnvVar{Name: "SAID", Value: "yes"})
	assert.Contains(t, spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	assert.True(t, spec.Containers[0].Resources.Limits.Memory().Equal(resource.MustParse("700Mi")))
	assert.True(t, spec.Containers[0].Resources.Requests.Cpu().Equal(resource.MustParse("11m")))
	require.Len(t, spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	assert.EqualValues(t, 7, spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight)
	require.NotNil(t, spec.Priority)
	assert.EqualValues(t, 1234, *spec.Priority)
	assert.Equal(t, corev1.PreemptNever, *spec.PreemptionPolicy)
	budget := c.budget(t)
	require.NotNil(t, budget)
	assert.Equal(t, "1", budget.Spec.MinAvailable.String())
	assert.EqualValues(t, 1, budget.Status.ExpectedPods, "it is the agent's pod that it guards")

	c.change(t, map[string]any{
		"agentEnvVars": nil, "agentTolerations": nil, "agentResources": nil, "agentAffinity": nil, "agentSchedulingCustomization": nil,
	})
	again := c.rolledOnce(t, after, "options were taken away")
	assert.Equal(t, before.generation, again.generation, "it is as it was before")
	assert.Equal(t, comparable(before.pod), comparable(again.pod))
	await(t, "PriorityClass and PodDisruptionBudget are gone", func(ctx context.Context) (bool, string, error) {
		_, err := c.at.Kube.SchedulingV1().PriorityClasses().Get(ctx, names.AgentPriorityClass, metav1.GetOptions{})
		return apierrors.IsNotFound(err) && c.budget(t) == nil, fmt.Sprint(err), nil
	})
}

// comparable is what was asked for in a pod, without what the cluster has put in.
func comparable(pod corev1.Pod) []any {
	c := pod.Spec.Containers[0]
	return []any{c.Image, c.Env, c.Resources, c.Command, pod.Spec.Tolerations, pod.Spec.Affinity, pod.Spec.Priority, pod.Spec.PriorityClassName, pod.Spec.HostNetwork}
}

func (c *cluster) budget(t *testing.T) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget, err := c.at.Kube.PolicyV1().PodDisruptionBudgets(c.agents).Get(t.Context(), names.AgentDisruptionBudget, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return budget
}

// Two pods of an agent on the host's network of one node: the new one must not need a port that the old one has. The old one
// goes only when the new one is Ready, so that there is always one.
func TestAnAgentOnTheHostsNetworkRollsWithoutAGap(t *testing.T) {
	b := theBed(t)
	c := b.imported() // one node
	before := c.now(t)
	c.change(t, map[string]any{"hostNetwork": true})
	on := c.rolledOnce(t, before, "on the host's network")
	assert.True(t, on.pod.Spec.HostNetwork)

	ready := c.watchReady(t)
	c.change(t, map[string]any{"redeployAgentGeneration": 7})
	again := c.rolledOnce(t, on, "replaced on the host's network")
	assert.NotEqual(t, on.pod.UID, again.pod.UID)
	least, seen := ready()
	assert.Equal(t, 1, least, "there was always a pod that is Ready:\n%s", seen)

	c.change(t, map[string]any{"hostNetwork": nil, "redeployAgentGeneration": nil})
	c.settle(t, "as it was", func(now state) bool { return !now.pod.Spec.HostNetwork })
}

// watchReady counts the pods that are Ready; the result ends it and says how few there were, and when.
func (c *cluster) watchReady(t *testing.T) func() (least int, seen string) {
	t.Helper()
	w, err := c.at.Kube.AppsV1().Deployments(c.agents).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + names.AgentDeployment})
	require.NoError(t, err)
	ended := make(chan struct{})
	least, seen := 1, ""
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				least = min(least, int(d.Status.ReadyReplicas))
				seen += fmt.Sprintf("%s %s %+v\n", event.Type, stage.GenerationOf(d.Spec.Template.Spec), d.Status)
			}
		}
	}()
	return func() (int, string) {
		w.Stop()
		<-ended
		return least, seen
	}
}
