package cases

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/proc"
)

// agentByHand writes what the agent's chart would, into a namespace of the test's own: the chart insists on one.
func (b *bed) agentByHand(t *testing.T, p place, clientID string, values map[string]any) {
	t.Helper()
	require.NoError(t, b.edge.PrepareAgent(t.Context(), p.agents, clientID))
	require.NoError(t, b.edge.WriteBootstrap(t.Context(), p.agents, values))
}

// agentProcess runs an agent that no Deployment describes.
func (b *bed) agentProcess(t *testing.T, p place, pod string) *proc.Process {
	t.Helper()
	process, err := b.StartBareAgent(t.Context(), b.edge, p.agents, pod, "HEARTBEAT_INTERVAL="+heartbeat)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of %s\n%s\n--- and of the controller\n%s", process.Name, process.Tail(60), b.controller.Tail(60))
		}
		if process.Running() {
			_, err := process.Stop(grace)
			require.NoError(t, err)
		}
	})
	return process
}

// awaitEvent waits until the agent has said something in an event of its namespace.
func awaitEvent(t *testing.T, b *bed, p place, what string) {
	t.Helper()
	await(t, what, func(ctx context.Context) (bool, string, error) {
		events, err := b.edge.Kube.CoreV1().Events(p.agents).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		for _, event := range events.Items {
			if event.Type == corev1.EventTypeWarning {
				t.Logf("event: %s: %s", event.Reason, event.Message)
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("%d events, none a warning", len(events.Items)), nil
	})
}
