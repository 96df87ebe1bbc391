package cases

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/pkg/names"
)

// agentByHand writes what the agent's chart would, into a namespace of the test's own: the chart insists on one.
func (b *bed) agentByHand(t *testing.T, p place, clientID string, values map[string]any) {
	t.Helper()
	ctx, kube := t.Context(), b.edge.Kube
	_, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.agents}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.CoreV1().ServiceAccounts(p.agents).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.agents},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.agents, Name: names.AgentAccount}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.CoreV1().ConfigMaps(p.agents).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, clientID)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.writeBootstrap(t, p, values)
}

// writeBootstrap gives an agent something to register with, whether or not there is something already.
func (b *bed) writeBootstrap(t *testing.T, p place, values map[string]any) {
	t.Helper()
	document, err := yaml.Marshal(values)
	require.NoError(t, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret},
		Data:       map[string][]byte{"values": document},
	}
	_, err = b.edge.Kube.CoreV1().Secrets(p.agents).Create(t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = b.edge.Kube.CoreV1().Secrets(p.agents).Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
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
