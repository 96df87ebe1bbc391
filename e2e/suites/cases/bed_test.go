package cases

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// bed is a hub with its controller and one downstream cluster.
type bed struct {
	*stage.Stage
	edge       *stage.Cluster
	controller *proc.Process
}

var (
	sharedBed stage.SharedBed[bed]
	places    atomic.Int32
)

// shared is the bed that tests have in common which disturb nobody: each keeps to a workspace of its own. The hub does not
// register itself: nobody runs its agent here, and it would bring that back now and then while others count.
func shared(t *testing.T) *bed {
	t.Helper()
	b := sharedBed.Of(t, func() *bed {
		s, edge := stage.HubAndEdge(t)
		return newBed(t, s, edge, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}})
	})
	if !b.controller.Running() {
		b.restartController(t)
	}
	return b
}

// newBed installs a hub and runs its controller.
func newBed(t *testing.T, s *stage.Stage, edge *stage.Cluster, values map[string]any) *bed {
	t.Helper()
	s.Env = election
	all := map[string]any{"agentHeartbeatInterval": heartbeat}
	maps.Copy(all, values)
	require.NoError(t, s.InstallHub(until(t), all))
	b := &bed{Stage: s, edge: edge}
	b.restartController(t)
	return b
}

func (b *bed) restartController(t *testing.T) {
	t.Helper()
	var err error
	b.controller, err = b.StartController(until(t))
	require.NoError(t, err)
}

// own is a bed for one test.
func own(t *testing.T, values map[string]any, hubOptions ...lab.Option) *bed {
	t.Helper()
	edge := stage.SharedClusters(t, stage.Audited("edge"))[0]
	s, err := stage.NewForSuite(lab.New(t, append(hubOptions, lab.WithAudit())...))
	require.NoError(t, err)
	s.EndWithTest(t)
	return newBed(t, s, edge, values)
}

// place is a workspace and an agent namespace that no other test uses.
type place struct{ workspace, agents string }

func newPlace() place {
	n := places.Add(1)
	return place{workspace: fmt.Sprintf("ws-%d", n), agents: fmt.Sprintf("agents-%d", n)}
}

// manage writes a Cluster with its kubeconfig secret; the agent gets a namespace of its own.
func (b *bed) manage(t *testing.T, p place, name string) {
	t.Helper()
	b.workspace(t, p.workspace)
	b.writeKubeconfig(t, p.workspace, name)
	b.writeCluster(t, p, name)
}

func (b *bed) workspace(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, b.EnsureNamespace(t.Context(), name))
}

func (b *bed) writeKubeconfig(t *testing.T, workspace, name string) {
	t.Helper()
	secret, err := stage.KubeconfigSecret(b.edge, workspace, kubeconfigOf(name))
	require.NoError(t, err)
	_, err = b.Hub.Kube.CoreV1().Secrets(workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

func kubeconfigOf(name string) string {
	if len(name) > 200 {
		name = name[:200]
	}
	return name + "-kubeconfig"
}

func (b *bed) writeCluster(t *testing.T, p place, name string) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", p.workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: name},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: kubeconfigOf(name), AgentNamespace: p.agents},
	}))
	// A cluster without its agent would be healed for as long as the hub lives, beside the tests that follow.
	t.Cleanup(func() {
		err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace).Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("cleaning up: %v", err)
		}
	})
}

func (b *bed) deleteCluster(t *testing.T, workspace, name string) {
	t.Helper()
	require.NoError(t, b.Hub.Dynamic.Resource(stage.Clusters).Namespace(workspace).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// agent starts the agent of a place and ends it with the test.
func (b *bed) agent(t *testing.T, p place, pod string) *proc.Process {
	t.Helper()
	process, err := b.StartAgent(until(t), b.edge, p.agents, pod)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the log of the controller\n%s", b.controller.Tail(60))
		}
	})
	process.EndWithTest(t)
	return process
}

func (b *bed) connected(t *testing.T, p place, name string) *fleet.Cluster {
	t.Helper()
	cluster, err := b.AwaitConnected(until(t), p.workspace, name)
	require.NoError(t, err)
	return cluster
}

// userObject is something of a user's on the downstream cluster; the returned function says that it is still that one.
func (b *bed) userObject(t *testing.T) (stillThere func()) {
	t.Helper()
	cm, err := b.edge.Kube.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "user-"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return func() {
		t.Helper()
		now, err := b.edge.Kube.CoreV1().ConfigMaps("default").Get(t.Context(), cm.Name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, cm.UID, now.UID)
	}
}

// requests are the registration requests of a workspace.
func (b *bed) requests(t *testing.T, workspace string) []fleet.ClusterRegistration {
	t.Helper()
	list, err := stage.List[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, workspace)
	require.NoError(t, err)
	return list
}
