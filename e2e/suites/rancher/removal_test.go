package rancher_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A cluster that is moved to another workspace is a new Cluster of the same name there, and the old one is pruned, in any
// order. Its one agent belongs to the new one in the end, and the end of the old one does not take it away.
func TestAClusterMovesToAnotherWorkspace(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	old := b.get(t, b.downstream)
	moved := b.downstream
	moved.Workspace = "fleet-moved"
	require.NoError(t, b.EnsureNamespace(ctx, moved.Workspace))
	now := b.join(t, moved)
	assert.NotEqual(t, old.UID, now.UID)
	b.awaitGone(t, b.downstream, old.Status.Namespace)
	await(t, "the agent has its bundle", func(context.Context) (bool, string, error) {
		c := b.get(t, moved)
		return c.Status.Summary.Ready > 0 && stage.Connected(c), fmt.Sprintf("%+v", c.Status.Summary), nil
	})
	assert.Len(t, agent(t, b.edge, stage.SystemNamespace).Spec.Template.Spec.Containers, 1)
}

// awaitGone waits until a Cluster and its namespace on the hub are gone.
func (b *bed) awaitGone(t *testing.T, p rancher.Provisioned, namespace string) {
	t.Helper()
	await(t, "Cluster "+p.Workspace+"/"+p.Name+" and its namespace are gone", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.Workspace, p.Name)
		if err != nil || c != nil {
			return false, "the Cluster is there", err
		}
		_, err = b.Hub.Kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "the namespace is there", err
	})
}

// Removing clusters, Bundles and a whole workspace ends, and leaves users' credentials that the user interface has made and
// labelled as it labels its own.
func TestRemovalEndsAndLeavesUsersSecrets(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	secrets := b.Hub.Kube.CoreV1().Secrets(b.downstream.Workspace)
	users, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "auth-", Labels: map[string]string{fleet.ManagedLabel: "true"}},
		Type:       corev1.SecretTypeBasicAuth,
		StringData: map[string]string{"username": "somebody", "password": "something"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	m := chart(b, "leaving")
	require.NoError(t, b.rancher.WriteManagedChart(ctx, m))
	b.awaitText(t, m, "first")
	namespace := b.get(t, b.downstream).Status.Namespace

	require.NoError(t, b.rancher.RemoveCluster(ctx, b.downstream))
	b.awaitGone(t, b.downstream, namespace)
	require.NoError(t, b.rancher.DeleteBundle(ctx, m.Workspace, m.BundleName()))
	b.awaitNoBundle(t, m.Workspace, m.BundleName())
	_, err = secrets.Get(ctx, users.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, secrets.Delete(ctx, users.Name, metav1.DeleteOptions{}))

	b.removeWorkspace(t)
	b.join(t, b.downstream) // Rancher has it again
	_, err = b.AwaitConnected(ctx, b.local.Workspace, b.local.Name)
	require.NoError(t, err)
}

// removeWorkspace deletes a namespace with a Cluster that works and a Bundle for it: both die in an order that nobody knows.
func (b *bed) removeWorkspace(t *testing.T) {
	t.Helper()
	ctx := stage.Until(t, 2*patience)
	leaving := b.downstream
	leaving.Workspace = "fleet-leaving"
	require.NoError(t, b.EnsureNamespace(ctx, leaving.Workspace))
	b.join(t, leaving)
	m := chart(b, "workspace")
	m.Workspace = leaving.Workspace
	require.NoError(t, b.rancher.WriteManagedChart(ctx, m))
	b.awaitText(t, m, "first")
	require.NoError(t, b.Hub.Kube.CoreV1().Namespaces().Delete(ctx, leaving.Workspace, metav1.DeleteOptions{}))
	await(t, "the workspace is gone", func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Kube.CoreV1().Namespaces().Get(ctx, leaving.Workspace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is there", err
	})
	seen := b.reader.Seen()
	for _, kind := range []string{"clusters", "bundles", "clustergroups", "bundledeployments"} {
		assert.Positive(t, seen[kind], "the reader has seen no %s", kind)
	}
}
