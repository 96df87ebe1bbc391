package rancher_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A cluster of Cluster API joins as its add-on provider writes it, gets Bundles of its class's namespace with values of its
// own, and the provider's writes meet no other owner of a field.
func TestAClusterOfClusterAPIJoins(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	a := rancher.Addon{Name: "capi-1", Namespace: "capi-clusters", Class: "small", ClassNamespace: "capi-classes"}
	for _, namespace := range []string{a.Namespace, a.ClassNamespace} {
		require.NoError(t, b.EnsureNamespace(ctx, namespace))
	}
	owner, err := b.Hub.Kube.CoreV1().ConfigMaps(a.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	a.OwnerUID = string(owner.UID)
	require.NoError(t, b.rancher.WriteAddon(ctx, a)) // the secret comes when the cluster does
	secret, err := stage.KubeconfigSecret(b.edge, a.Namespace, a.Name+"-kubeconfig")
	require.NoError(t, err)
	_, err = b.Hub.Kube.CoreV1().Secrets(a.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	require.NoError(t, err)
	joined, err := b.AwaitConnected(ctx, a.Namespace, a.Name)
	require.NoError(t, err)
	assert.Equal(t, "fleet-addon-agent", joined.Status.Agent.Namespace)
	pod := agent(t, b.edge, "fleet-addon-agent").Spec.Template.Spec
	assert.True(t, pod.HostNetwork)
	assert.Equal(t, ":18080", stage.VariableOf(pod, "FLEET_AGENT_METRICS_BIND_ADDRESS"))
	assert.True(t, tolerates(pod, "node.cluster.x-k8s.io/uninitialized"))
	require.NoError(t, b.rancher.WriteAddon(ctx, a), "the hub owns no field that the provider writes")

	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", a.ClassNamespace, &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Name: "network"},
		Spec: fleet.BundleSpec{
			BundleDeploymentOptions: fleet.BundleDeploymentOptions{
				DefaultNamespace: "network",
				Helm:             &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"pods": "${ index .ClusterValues.Cluster.spec.clusterNetwork.pods.cidrBlocks 0 }"}}},
			},
			Resources: []fleet.BundleResource{
				{Name: "Chart.yaml", Content: "apiVersion: v2\nname: network\nversion: 1.0.0\n"},
				{Name: "templates/cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: network}\ndata: {text: {{ .Values.pods }}}\n"},
			},
			Targets: []fleet.BundleTarget{{ClusterGroup: a.Class + "." + a.Namespace}},
		},
	}))
	b.awaitText(t, rancher.ManagedChart{Name: "network", Target: "network"}, "10.7.0.0/16")
	b.leave(t, a)
}

// leave takes the cluster away as its owner does, and its Bundle.
func (b *bed) leave(t *testing.T, a rancher.Addon) {
	t.Helper()
	require.NoError(t, b.rancher.DeleteBundle(t.Context(), a.ClassNamespace, "network"))
	b.awaitNoBundle(t, a.ClassNamespace, "network")
	require.NoError(t, b.Hub.Kube.CoreV1().ConfigMaps(a.Namespace).Delete(t.Context(), a.Name, metav1.DeleteOptions{}))
	await(t, "the Cluster follows its owner", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, a.Namespace, a.Name)
		return err == nil && c == nil, "it is there", err
	})
}

// CAAPF and Helm write the same configuration by turns. That is harmless: agents that have this address are left alone.
func TestTheConfigurationHasTwoWriters(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, patience)
	lost, registered := b.watchConnection(t), b.registrations(t)
	require.NoError(t, b.rancher.PatchConfig(ctx, b.HubURL, b.HubCA))
	require.NoError(t, b.Install(ctx, b.Hub, "fleet", "fleet", stage.SystemNamespace, b.laterValues()))
	require.NoError(t, b.rancher.PatchConfig(ctx, b.HubURL, b.HubCA))
	// The hub has read the last text when it acts on what comes after it.
	b.patch(t, b.local, `{"spec":{"redeployAgentGeneration":5}}`)
	b.awaitRedeployed(t, b.local)
	assert.False(t, lost())
	assert.Equal(t, registered, b.registrations(t))
}
