package delivery_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// A bundle that is called like those of agents is removed as any other.
func TestABundleThatIsCalledLikeAnAgentsIsRemoved(t *testing.T) {
	b := theBed(t)
	const name = "fleet-agent-tools"
	b.create(t, newBundle(name, to("name", one), configMap("tools", "a")))
	b.awaitReady(t, name, 1)
	b.remove(t, name)
	b.awaitValue(t, one, name, "tools", "")
}

// One of another workspace with the very name of an agent's goes to other clusters, and not to that one, whose agent stays
// what it is.
func TestTheNameOfAnAgentsBundleGetsNothingOfTheAgent(t *testing.T) {
	b := theBed(t)
	const tenants = "tenants"
	mappings := fleet.SchemeGroupVersion.WithResource("bundlenamespacemappings")
	name := names.AgentBundle(one)
	require.NoError(t, b.EnsureNamespace(t.Context(), tenants))
	require.NoError(t, stage.Create(t.Context(), b.Hub, mappings, "BundleNamespaceMapping", tenants, &fleet.BundleNamespaceMapping{
		ObjectMeta:        metav1.ObjectMeta{Name: "all"},
		BundleSelector:    &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": stage.Workspace}},
	}))
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", tenants, newBundle(name, toBoth(), configMap("foreign", "a"))))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, b.Hub.Dynamic.Resource(stage.Bundles).Namespace(tenants).Delete(ctx, name, metav1.DeleteOptions{}))
		require.NoError(t, stage.Await(ctx, "the end of bundle "+name, func(ctx context.Context) (bool, string, error) {
			bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, tenants, name)
			return err == nil && bundle == nil, "it is there", err
		}))
		require.NoError(t, b.Hub.Dynamic.Resource(mappings).Namespace(tenants).Delete(ctx, "all", metav1.DeleteOptions{}))
	})

	b.awaitValue(t, two, name, "foreign", "a")
	await(t, "the bundle says why it is not on the other", func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, tenants, name)
		if err != nil || bundle == nil {
			return false, "there is none", err
		}
		said := stage.Conditions(bundle.Status.Conditions)
		return bundle.Status.Summary.Ready == 1 && strings.Contains(said, "the name is reserved"), said, nil
	})
	bd, err := b.deployment(t.Context(), name, one)
	require.NoError(t, err)
	require.NotNil(t, bd)
	require.Equal(t, stage.Workspace, bd.Labels[fleet.BundleNamespaceLabel])
	require.Equal(t, "true", bd.Labels[names.AgentBundleLabel])
	got, err := b.value(t.Context(), one, name, "foreign")
	require.NoError(t, err)
	require.Empty(t, got)
}
