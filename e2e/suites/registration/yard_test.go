package registration_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// yard is a hub whose clusters come and go: it does not register itself, and one downstream control plane plays all its
// clusters, each agent in a namespace of its own.
type yard struct {
	*bed
	edge *stage.Cluster
}

var (
	theYard  *yard
	yardOnce sync.Once
)

// withoutLocal are the chart's values of a hub that does not register itself.
var withoutLocal = map[string]any{"bootstrap": map[string]any{"enabled": false}}

// ofTheYard starts the yard, or returns the one that runs.
func ofTheYard(t *testing.T) *yard {
	t.Helper()
	yardOnce.Do(func() {
		planes := clusters(t, audited("yard"), audited("edge-3"))
		b, err := newBed(until(t, patience), planes[0], withoutLocal)
		require.NoError(t, err)
		y := &yard{bed: b, edge: planes[1]}
		y.controller, err = y.StartController(until(t, patience))
		require.NoError(t, err)
		await(t, "what the hub makes at its start", func(ctx context.Context) (bool, string, error) {
			_, err := y.Hub.Kube.RbacV1().ClusterRoleBindings().Get(ctx, names.ContentClusterRoleBinding, metav1.GetOptions{})
			return err == nil, "", err
		})
		_, err = y.Hub.Settled(until(t, patience), stillness)
		require.NoError(t, err)
		theYard = y
	})
	require.NotNil(t, theYard, "the hub did not come up; see the first test that needed it")
	theYard.explain(t)
	if !theYard.controller.Running() { // a test that ends it has failed half way
		var err error
		theYard.controller, err = theYard.StartController(until(t, patience))
		require.NoError(t, err)
	}
	return theYard
}

// agent runs an agent of the yard until the end of the test.
func (y *yard) agent(t *testing.T, namespace, pod string) *proc.Process {
	t.Helper()
	p, err := y.StartAgent(until(t, patience), y.edge, namespace, pod)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of %s\n%s", p.Name, p.Tail(40))
		}
		if p.Running() {
			_, err := p.Stop(grace)
			require.NoError(t, err)
		}
	})
	return p
}

// delete deletes a Cluster, without waiting for anything.
func (b *bed) delete(t *testing.T, workspace, name string) {
	t.Helper()
	b.remove(t, stage.Clusters.Resource, workspace, name)
}

// awaitGone waits until there is nothing of what was deleted.
func (b *bed) awaitGone(t *testing.T, before stage.Snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), leaving)
	defer cancel()
	require.NoError(t, b.Hub.AwaitSame(ctx, before, recordOfHelm), "a deleted Cluster must leave nothing on the hub within %s", leaving)
}

// writeCluster creates a Cluster with a kubeconfig secret of its own name, as soon as an earlier one of its name is gone.
func (y *yard) writeCluster(t *testing.T, workspace, name, agentNamespace string) {
	t.Helper()
	await(t, "Cluster "+name+" to be created", func(ctx context.Context) (bool, string, error) {
		err := stage.Create(ctx, y.Hub, stage.Clusters, "Cluster", workspace, &fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name},
			Spec:       fleet.ClusterSpec{KubeConfigSecret: name, AgentNamespace: agentNamespace},
		})
		return err == nil, "", err
	})
}
