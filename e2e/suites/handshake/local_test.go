package handshake

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// local is a hub that registers itself, from its very first start. Each run has a local workspace of its own.
type local struct{}

// clusterGroups are the one kind that nothing but the local cluster brings.
var clusterGroups = fleet.SchemeGroupVersion.WithResource("clustergroups")

func (local) place(p place) place {
	p.workspace, p.cluster = localPrefix+p.tag, names.LocalCluster
	return p
}

func (local) prepare(t *testing.T, b *bed, p place) {
	t.Helper()
	b.bootstrapInto(t, p.workspace, p.agents)
}

func (local) begin(t *testing.T, b *bed, _ place) {
	t.Helper()
	require.NoError(t, b.controller.up(until(t)))
}

func (local) beforeAgent(*testing.T, *bed, place) {}

func (local) agent(b *bed, p place) func(context.Context) (*proc.Process, error) {
	return func(ctx context.Context) (*proc.Process, error) {
		return b.StartAgent(ctx, b.Hub, p.agents, "agent-of-"+p.workspace, election...)
	}
}

// leave ends the controller too, and removes what the next one is to find missing.
func (local) leave(t *testing.T, b *bed, p place) {
	t.Helper()
	b.bootstrapInto(t, "-", p.agents)
	b.deleteAndAwait(t, stage.Clusters, p.workspace, p.cluster)
	b.deleteAndAwait(t, clusterGroups, p.workspace, names.DefaultClusterGroup)
	awaitNoManaged(t, b, p)
	b.forgetStart(t)
	require.NoError(t, b.Hub.Kube.CoreV1().Namespaces().Delete(t.Context(), p.workspace, metav1.DeleteOptions{}))
	b.dropAgent(t, p)
}

// awaitNoManaged waits until the controller has removed what it does not remove before the Cluster is gone.
func awaitNoManaged(t *testing.T, b *bed, p place) {
	t.Helper()
	await(t, "the end of all accounts and contents of "+p.workspace, func(ctx context.Context) (bool, string, error) {
		for _, namespace := range []string{stage.RegistrationNamespace, stage.AgentsNamespace} {
			list, err := b.Hub.Kube.CoreV1().ServiceAccounts(namespace).List(ctx, metav1.ListOptions{LabelSelector: names.ManagedLabel})
			if err != nil || len(list.Items) > 0 {
				return false, namespace + " has accounts", err
			}
		}
		contents, err := b.Hub.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource("contents")).List(ctx, metav1.ListOptions{})
		if err != nil || len(contents.Items) > 0 {
			return false, "there are Contents", err
		}
		return true, "", nil
	})
}

// forgetStart ends the controller and removes what it made at its start.
func (b *bed) forgetStart(t *testing.T) {
	t.Helper()
	require.NoError(t, b.controller.end())
	rbac := b.Hub.Kube.RbacV1()
	require.NoError(t, rbac.ClusterRoleBindings().Delete(t.Context(), names.ContentClusterRoleBinding, metav1.DeleteOptions{}))
	for _, role := range []string{names.ContentClusterRole, names.BundleDeploymentClusterRole} {
		require.NoError(t, rbac.ClusterRoles().Delete(t.Context(), role, metav1.DeleteOptions{}))
	}
}

// bootstrapInto sets where the hub registers itself; "-" is nowhere.
func (b *bed) bootstrapInto(t *testing.T, workspace, agents string) {
	t.Helper()
	require.NoError(t, b.Configure(t.Context(), func(config map[string]any) {
		bootstrap, _ := config["bootstrap"].(map[string]any)
		require.NotNil(t, bootstrap)
		bootstrap["namespace"], bootstrap["agentNamespace"] = workspace, agents
	}))
}
