package pods_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// hubs waits until there are so many pods of the hub, all Ready and of one template.
func (b *bed) hubs(t *testing.T, count int) []corev1.Pod {
	t.Helper()
	var ready []corev1.Pod
	await(t, fmt.Sprintf("%d pods of the hub that are Ready", count), func(ctx context.Context) (bool, string, error) {
		pods, err := b.hub.pods(ctx, stage.SystemNamespace, controllerPods)
		ready = pods
		ok := len(pods) == count
		for _, pod := range pods {
			ok = ok && isReady(pod) && pod.Labels["pod-template-hash"] == pods[0].Labels["pod-template-hash"]
		}
		return ok, describe(pods), err
	})
	return ready
}

// leading waits until one of the pods leads, and returns it.
func (b *bed) leading(t *testing.T, pods []corev1.Pod) corev1.Pod {
	t.Helper()
	var leader corev1.Pod
	await(t, "one of the hub's pods leads", func(ctx context.Context) (bool, string, error) {
		lease, err := b.hub.Kube.CoordinationV1().Leases(stage.SystemNamespace).Get(ctx, names.ControllerLease, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return false, "nobody", err
		}
		for _, pod := range pods {
			if strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name) {
				leader = pod
				return true, "", nil
			}
		}
		return false, *lease.Spec.HolderIdentity, nil
	})
	return leader
}

// What a person can ask for the hub is in its pods. Of two, one leads; when that dies, the other does.
func TestOptionsOfTheHubAreInItsPodsAndTheOtherTakesOver(t *testing.T) {
	b := theBed(t)
	before := b.values
	b.install(t, b.with(map[string]any{
		"controller":        map[string]any{"replicas": 2},
		"priorityClassName": "system-cluster-critical",
		"proxy":             "http://proxy.example.com:3128",
		"noProxy":           "10.0.0.0/8,172.16.0.0/12", // the API servers of the lab, and of k3d
		"extraLabels":       map[string]any{"fleetController": map[string]any{"team": "platform"}},
		"extraAnnotations":  map[string]any{"fleetController": map[string]any{"note": "kept"}},
		"extraEnv":          []any{map[string]any{"name": "SAID", "value": "yes"}},
		"resources":         map[string]any{"requests": map[string]any{"cpu": "12m"}},
		"leaderElection":    map[string]any{"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"},
		"affinity": map[string]any{"podAntiAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
			"weight": 1, "podAffinityTerm": map[string]any{
				"topologyKey": "kubernetes.io/hostname", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "fleet-controller"}},
			},
		}}}},
	}))
	pods := b.hubs(t, 2)
	for _, pod := range pods {
		assert.Equal(t, "platform", pod.Labels["team"])
		assert.Equal(t, "kept", pod.Annotations["note"])
		require.NotNil(t, pod.Spec.Priority)
		assert.EqualValues(t, 2000000000, *pod.Spec.Priority)
		c := pod.Spec.Containers[0]
		assert.Contains(t, c.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"})
		assert.Contains(t, c.Env, corev1.EnvVar{Name: "SAID", Value: "yes"})
		assert.Equal(t, "12m", c.Resources.Requests.Cpu().String())
	}
	assert.NotEqual(t, pods[0].Spec.NodeName, pods[1].Spec.NodeName)

	leader := b.leading(t, pods)
	began, none := time.Now(), int64(0)
	require.NoError(t, b.hub.Kube.CoreV1().Pods(stage.SystemNamespace).Delete(t.Context(), leader.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}))
	now := b.hubs(t, 2)
	next := b.leading(t, now)
	assert.NotEqual(t, leader.UID, next.UID)
	t.Logf("took: %s for the other hub to lead after the first was killed", since(began))

	b.install(t, before)
	again := b.hubs(t, 1)
	assert.NotContains(t, again[0].Labels, "team")
	for _, c := range b.clusters() {
		c.connected(t)
	}
}
