package handshake

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// patches keep the hub busy with Clusters while others are made.
	patches = 2000
	// newcomers are Clusters that come with their namespace in that time.
	newcomers = 20
)

// R12, O5: a Cluster and its namespace are made at the same moment, and the hub hears of the namespace first, as it is busy
// with changes of other Clusters. It deletes no namespace for that.
func TestANamespaceThatIsSeenBeforeItsClusterStays(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	for i := range 20 {
		b.writeCluster(t, p.workspace, fmt.Sprintf("busy-%d", i))
	}
	t.Cleanup(func() { b.discard(t, p) })

	flood, ctx := errgroup.WithContext(t.Context())
	busy := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace)
	for i := range 20 {
		flood.Go(func() error {
			for n := range patches / 20 {
				patch := fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, n)
				if _, err := busy.Patch(ctx, fmt.Sprintf("busy-%d", i), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	made := map[string]types.UID{}
	for i := range newcomers {
		name := fmt.Sprintf("new-%d", i)
		// Every other namespace is there a moment before its Cluster, as after a restore.
		if i%2 == 0 {
			b.writeCluster(t, p.workspace, name)
			made[name] = b.writeNamespaceOf(t, p.workspace, name)
		} else {
			made[name] = b.writeNamespaceOf(t, p.workspace, name)
			b.writeCluster(t, p.workspace, name)
		}
	}
	require.NoError(t, flood.Wait())
	for name, uid := range made {
		b.requireNamespace(t, p.workspace, name, uid)
	}
}

func (b *bed) writeCluster(t *testing.T, workspace, name string) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name},
	}))
}

// writeNamespaceOf makes a cluster namespace with the marks that it has had for all time, unless the hub was faster, and
// returns its UID.
func (b *bed) writeNamespaceOf(t *testing.T, workspace, name string) types.UID {
	t.Helper()
	ns, err := b.Hub.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        names.ClusterNamespace(workspace, name),
		Labels:      map[string]string{names.ManagedLabel: "true"},
		Annotations: map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		ns, err = b.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), names.ClusterNamespace(workspace, name), metav1.GetOptions{})
	}
	require.NoError(t, err)
	return ns.UID
}

// requireNamespace waits until the hub has made up its mind about a namespace, and looks that it is the one that was made. What
// somebody else made is not taken for the Cluster's, and is not deleted either.
func (b *bed) requireNamespace(t *testing.T, workspace, name string, uid types.UID) {
	t.Helper()
	namespace := names.ClusterNamespace(workspace, name)
	_, err := b.AwaitCluster(until(t), workspace, name, "a namespace, or a reason against it", func(c *fleet.Cluster) bool {
		processed := stage.Condition(c.Status.Conditions, fleet.ClusterConditionProcessed)
		taken := c.Status.Namespace == namespace && stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionProcessed)
		return taken || processed != nil && processed.Reason == "NamespaceBlocked"
	})
	require.NoError(t, err)
	ns, err := b.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, uid, ns.UID, "the namespace of %s was deleted and made again", name)
	require.Nil(t, ns.DeletionTimestamp, "the namespace of %s is being deleted", name)
}
