package trust_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// joinsByItself writes what the agent's chart would, into a namespace of the test's own (the chart insists on one), and
// starts the agent. The Cluster is made by the registration.
func (b *bed) joinsByItself(t *testing.T, clientID string) *cluster {
	t.Helper()
	c := &cluster{bed: b, place: newPlace(), name: names.RegisteredCluster(clientID)}
	values, err := b.NewToken(until(t), c.workspace, "token", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	ctx, kube := t.Context(), b.edge.Kube
	_, err = kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.agents}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.CoreV1().ServiceAccounts(c.agents).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount}}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.mayDoAll(t, c.agents, names.AgentAccount)
	_, err = kube.CoreV1().ConfigMaps(c.agents).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, clientID)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.writeBootstrap(t, values)
	c.deleteAtEnd(t, c.name)
	process, err := b.StartBareAgent(ctx, b.edge, c.agents, "agent-"+c.agents, "HEARTBEAT_INTERVAL="+heartbeat)
	require.NoError(t, err)
	c.keep(t, process)
	return c
}

// mayDoAll gives an account of the downstream cluster what an agent has.
func (b *bed) mayDoAll(t *testing.T, namespace, account string) {
	t.Helper()
	_, err := b.edge.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// writeBootstrap gives an agent something to register with, whether or not there is something already.
func (c *cluster) writeBootstrap(t *testing.T, values map[string]any) {
	t.Helper()
	document, err := yaml.Marshal(values)
	require.NoError(t, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret},
		Data:       map[string][]byte{"values": document},
	}
	_, err = c.edge.Kube.CoreV1().Secrets(c.agents).Create(t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = c.edge.Kube.CoreV1().Secrets(c.agents).Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	require.NoError(t, err)
}
