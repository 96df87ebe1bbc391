// Package cases replays, on real control planes, what breaks for users of systems that register clusters. Each test is
// named after the behaviour that is wanted; the number of the case stands in its comment.
package cases

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// heartbeat is short, so that silence shows in seconds; three of them are the grace.
	heartbeat = "2s"
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	// window is how long nothing must happen where a test says so.
	window = 5 * time.Second
	grace  = 30 * time.Second
)

// election makes a new leader take over in seconds, and leaves room for a machine that is busy.
var election = []string{
	"CATTLE_ELECTION_LEASE_DURATION=8s", "CATTLE_ELECTION_RENEW_DEADLINE=6s", "CATTLE_ELECTION_RETRY_PERIOD=1s",
}

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

// full says whether everything runs at its full count.
func full() bool { return os.Getenv("FLEET_TEST_FULL") == "1" }

// times is how often a test repeats itself; it says what it leaves out.
func times(t *testing.T, plain, whole int) int {
	t.Helper()
	if full() {
		return whole
	}
	t.Logf("reduced: %d rounds instead of %d; FLEET_TEST_FULL=1 runs all", plain, whole)
	return plain
}

// bed is a hub with its controller and one downstream cluster.
type bed struct {
	*stage.Stage
	edge       *stage.Cluster
	controller *proc.Process
}

var (
	sharedBed  *bed
	sharedOnce sync.Once
	places     atomic.Int32
)

// shared is the bed that tests have in common which disturb nobody: each keeps to a workspace of its own.
func shared(t *testing.T) *bed {
	t.Helper()
	hub, edge := lab.Shared(t, "hub", lab.WithAudit()), lab.Shared(t, "edge", lab.WithAudit())
	sharedOnce.Do(func() { sharedBed = newBed(t, context.Background(), hub, edge, nil) })
	require.NotNil(t, sharedBed, "the shared hub did not start")
	if !sharedBed.controller.Running() {
		sharedBed.restartController(t)
	}
	return sharedBed
}

// newBed installs a hub. ctx bounds the life of its processes.
func newBed(t *testing.T, ctx context.Context, hub, edge *lab.ControlPlane, values map[string]any) *bed {
	t.Helper()
	root, err := lab.FindRoot()
	require.NoError(t, err)
	s, err := stage.New(root, hub)
	require.NoError(t, err)
	s.Env = election
	require.FileExists(t, s.Binary(), "build it first: scripts/build")
	b := &bed{Stage: s}
	b.edge, err = stage.Attach(edge)
	require.NoError(t, err)
	all := map[string]any{"agentHeartbeatInterval": heartbeat}
	for key, value := range values {
		all[key] = value
	}
	require.NoError(t, s.InstallHub(ctx, all))
	b.controller, err = s.StartController(ctx)
	require.NoError(t, err)
	return b
}

func (b *bed) restartController(t *testing.T) {
	t.Helper()
	var err error
	b.controller, err = b.StartController(context.Background())
	require.NoError(t, err)
}

// own is a bed for one test.
func own(t *testing.T, values map[string]any, hubOptions ...lab.Option) *bed {
	t.Helper()
	b := newBed(t, t.Context(), lab.New(t, append(hubOptions, lab.WithAudit())...), lab.Shared(t, "edge", lab.WithAudit()), values)
	t.Cleanup(func() { b.endProcesses(t) })
	return b
}

func (b *bed) endProcesses(t *testing.T) {
	if t.Failed() {
		for _, p := range b.Processes() {
			t.Logf("--- the end of the log of %s\n%s", p.Name, p.Tail(60))
		}
	}
	if err := b.StopProcesses(grace); err != nil {
		t.Errorf("%v", err)
	}
}

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
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
			t.Logf("--- the end of the log of %s\n%s\n--- and of the controller\n%s", process.Name, process.Tail(60), b.controller.Tail(60))
		}
		if process.Running() {
			_, err := process.Stop(grace)
			require.NoError(t, err)
		}
	})
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

// await looks until done is satisfied.
func await(t *testing.T, what string, done func(ctx context.Context) (bool, string, error)) {
	t.Helper()
	require.NoError(t, stage.Await(until(t), what, done))
}
