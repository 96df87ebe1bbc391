package handshake

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// way is one way of joining, cut into what a run of it needs.
type way interface {
	// place takes what it needs of the names of a run.
	place(p place) place
	// prepare makes what is there before the handshake.
	prepare(t *testing.T, b *bed, p place)
	// begin sets the handshake going.
	begin(t *testing.T, b *bed, p place)
	// agent starts the agent, as soon as there is one to be started.
	agent(b *bed, p place) func(context.Context) (*proc.Process, error)
	// beforeAgent does what a person does between the two.
	beforeAgent(t *testing.T, b *bed, p place)
	// leave takes all of it away.
	leave(t *testing.T, b *bed, p place)
}

// byManager is the import by the hub.
type byManager struct{}

func (byManager) place(p place) place { return p }

func (byManager) prepare(t *testing.T, b *bed, p place) {
	t.Helper()
	secret, err := stage.KubeconfigSecret(b.edge, p.workspace, p.kubeconfig())
	require.NoError(t, err)
	_, err = b.Hub.Kube.CoreV1().Secrets(p.workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (byManager) begin(t *testing.T, b *bed, p place) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", p.workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: p.cluster},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: p.kubeconfig(), AgentNamespace: p.agents},
	}))
}

func (byManager) beforeAgent(*testing.T, *bed, place) {}

func (byManager) agent(b *bed, p place) func(context.Context) (*proc.Process, error) {
	return func(ctx context.Context) (*proc.Process, error) {
		return b.StartAgent(ctx, b.edge, p.agents, "agent-of-"+p.cluster, election...)
	}
}

func (byManager) leave(t *testing.T, b *bed, p place) {
	t.Helper()
	b.deleteAndAwait(t, stage.Clusters, p.workspace, p.cluster)
	require.NoError(t, b.Hub.Kube.CoreV1().Secrets(p.workspace).Delete(t.Context(), p.kubeconfig(), metav1.DeleteOptions{}))
	b.dropAgent(t, p)
}

// byAgent is the agent's own registration with a token that a person made.
type byAgent struct{}

func (byAgent) place(p place) place { return p }

// prepare writes what the agent's chart would into a namespace of the run's own: the chart insists on one.
func (byAgent) prepare(t *testing.T, b *bed, p place) {
	t.Helper()
	ctx, kube := t.Context(), b.edge.Kube
	namespace(t, b.edge, p.agents)
	_, err := kube.CoreV1().ServiceAccounts(p.agents).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount}}, metav1.CreateOptions{})
	require.NoError(t, err)
	all := []string{"*"}
	_, err = kube.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentRole(p.agents)},
		Rules:      []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}, {NonResourceURLs: all, Verbs: all}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentRoleBinding(p.agents)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.AgentRole(p.agents)},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.agents, Name: names.AgentAccount}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.CoreV1().ConfigMaps(p.agents).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, p.client)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (byAgent) begin(t *testing.T, b *bed, p place) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Tokens, "ClusterRegistrationToken", p.workspace, &fleet.ClusterRegistrationToken{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: p.token},
		Spec:       fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}},
	}))
}

func (byAgent) beforeAgent(t *testing.T, b *bed, p place) {
	t.Helper()
	values, err := b.TokenValues(until(t), p.workspace, p.token)
	require.NoError(t, err)
	require.NoError(t, b.edge.WriteBootstrap(t.Context(), p.agents, values))
}

func (byAgent) agent(b *bed, p place) func(context.Context) (*proc.Process, error) {
	return func(ctx context.Context) (*proc.Process, error) {
		return b.StartBareAgent(ctx, b.edge, p.agents, "agent-of-"+p.client, bare()...)
	}
}

// bare is the environment of an agent that no Deployment describes.
func bare() []string { return append([]string{"HEARTBEAT_INTERVAL=" + heartbeat}, election...) }

func (byAgent) leave(t *testing.T, b *bed, p place) {
	t.Helper()
	b.deleteAndAwait(t, stage.Clusters, p.workspace, names.RegisteredCluster(p.client))
	b.deleteAndAwait(t, stage.Tokens, p.workspace, p.token)
	b.dropAgent(t, p)
}

// deleteAndAwait deletes an object of the hub and waits until it is gone.
func (b *bed) deleteAndAwait(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	objects := b.Hub.Dynamic.Resource(resource).Namespace(namespace)
	require.NoError(t, objects.Delete(t.Context(), name, metav1.DeleteOptions{}))
	await(t, "the end of "+resource.Resource+" "+namespace+"/"+name, func(ctx context.Context) (bool, string, error) {
		obj, err := stage.Get[fleet.Cluster](ctx, b.Hub, resource, namespace, name)
		if err != nil || obj == nil {
			return obj == nil, "", err
		}
		return false, stage.Conditions(obj.Status.Conditions), nil
	})
}
