package pods_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// leader is who leads the agents of a cluster.
func (c *cluster) leader(ctx context.Context) (string, error) {
	lease, err := c.at.Kube.CoordinationV1().Leases(c.agents).Get(ctx, names.AgentElectionLease, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// movedFrom waits until the pod that the cluster has now leads, and is another than before.
func (c *cluster) movedFrom(t *testing.T, before corev1.Pod, what string) corev1.Pod {
	t.Helper()
	began := time.Now()
	var now corev1.Pod
	await(t, what, func(ctx context.Context) (bool, string, error) {
		pods, err := c.at.pods(ctx, c.agents, agentPods)
		if err != nil || len(pods) != 1 || pods[0].UID == before.UID || !isReady(pods[0]) {
			return false, describe(pods), err
		}
		now = pods[0]
		holder, err := c.leader(ctx)
		return led(holder, now.Name), fmt.Sprintf("%s; %q leads", describe(pods), holder), err
	})
	t.Logf("took: %s for %s", since(began), what)
	return now
}

// led says whether an identity of a leader election is that of a pod.
func led(holder, pod string) bool { return len(holder) >= len(pod) && holder[:len(pod)] == pod }

// A node is taken out of service, and an agent's pod dies: another pod takes over, on another node where it has to.
func TestAnAgentMovesWithItsNode(t *testing.T) {
	b := theBed(t)
	c := b.local() // two nodes
	before := c.now(t).pod
	helper := &drain.Helper{
		Ctx: t.Context(), Client: c.at.Kube, Force: true, GracePeriodSeconds: -1, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
		Timeout: patience, Out: testWriter{t}, ErrOut: testWriter{t},
	}
	node, err := c.at.Kube.CoreV1().Nodes().Get(t.Context(), before.Spec.NodeName, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, drain.RunCordonOrUncordon(helper, node, true))
	t.Cleanup(func() {
		helper.Ctx = context.WithoutCancel(t.Context())
		fresh, err := c.at.Kube.CoreV1().Nodes().Get(helper.Ctx, before.Spec.NodeName, metav1.GetOptions{})
		if assert.NoError(t, err) {
			assert.NoError(t, drain.RunCordonOrUncordon(helper, fresh, false))
		}
	})
	require.NoError(t, drain.RunNodeDrain(helper, before.Spec.NodeName))
	drained := c.movedFrom(t, before, "take-over after the node was drained")
	assert.NotEqual(t, before.Spec.NodeName, drained.Spec.NodeName)

	none := int64(0) // it cannot say that it ends
	require.NoError(t, c.at.Kube.CoreV1().Pods(c.agents).Delete(t.Context(), drained.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}))
	c.movedFrom(t, drained, "take-over after the pod was killed")
	b.hub.onlyPod(t, stage.SystemNamespace, controllerPods) // it may have lived on the same node
	c.connected(t)
}

// testWriter logs what a library says.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}
