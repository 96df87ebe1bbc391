package verbs

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/pkg/names"
)

// joins puts an agent into a namespace of its own, with the values that a person got, and starts it. The chart would do
// the same; it insists on one namespace.
func (b *bed) joins(t *testing.T, namespace, clientID, values string) *proc.Process {
	t.Helper()
	b.account(t, namespace, names.AgentAccount, "cluster-admin")
	ctx, core := until(t), b.Hub.Kube.CoreV1()
	_, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, clientID)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = core.Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret},
		Data:       map[string][]byte{"values": []byte(values)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	process, err := b.StartBareAgent(ctx, b.Hub, namespace, namespace+"-pod", "HEARTBEAT_INTERVAL="+heartbeat)
	require.NoError(t, err)
	return process
}

// account makes a service account with a ClusterRole, in a namespace of its own.
func (b *bed) account(t *testing.T, namespace, name, role string) {
	t.Helper()
	ctx := until(t)
	require.NoError(t, b.EnsureNamespace(ctx, namespace))
	_, err := b.Hub.Kube.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = b.Hub.Kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// onlooker is a person who may read Clusters and nothing else.
func (b *bed) onlooker(t *testing.T) (kubeconfig string) {
	t.Helper()
	_, err := b.Hub.Kube.RbacV1().ClusterRoles().Create(until(t), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "onlooker"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"fleet.cattle.io"}, Resources: []string{"clusters"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.account(t, "onlookers", "onlooker", "onlooker")
	person, err := lab.ServiceAccountKubeconfig(until(t), b.Hub.Config, "onlookers", "onlooker", time.Hour, b.Hub.URL, b.Hub.CA())
	require.NoError(t, err)
	person.Namespace = workspace
	path := filepath.Join(t.TempDir(), "onlooker")
	require.NoError(t, person.Write(path))
	return path
}

func selfSubjectReview() *authenticationv1.SelfSubjectReview {
	return &authenticationv1.SelfSubjectReview{}
}
