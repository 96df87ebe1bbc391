package clusterstatus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

type world struct {
	*handler
	clock       *clocktesting.FakePassiveClock
	clusters    *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	deployments *controllertest.Controller[*fleet.BundleDeployment, *fleet.BundleDeploymentList]
}

// newWorld is a hub with a cluster that has one ready bundle, and another cluster's namespace.
func newWorld(t *testing.T) *world {
	t.Helper()
	namespaces := controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces")
	w := &world{
		clusters:    controllertest.New[*fleet.Cluster, *fleet.ClusterList]("fleet.cattle.io", "clusters"),
		deployments: controllertest.New[*fleet.BundleDeployment, *fleet.BundleDeploymentList]("fleet.cattle.io", "bundledeployments"),
	}
	w.clock = clocktesting.NewFakePassiveClock(now)
	w.handler = &handler{Deps: Deps{Clusters: w.clusters, Deployments: w.deployments, Namespaces: namespaces, Clock: w.clock}}
	namespaces.Add(place(placeC, "c"), place(placeD, "d"))
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "c", UID: "uid-c"}, Status: seen()}
	c.Status.Namespace = placeC
	w.clusters.Add(c)
	w.deployments.Add(deployment("a", "v1", true, nil))
	return w
}

// The namespaces of the two Clusters.
var placeC, placeD = names.ClusterNamespace("ws", "c"), names.ClusterNamespace("ws", "d")

func place(name, cluster string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
		names.ClusterNamespaceAnnotation: "ws", names.ClusterAnnotation: cluster,
		names.OwnerAnnotation: names.OwnerRef{Kind: "Cluster", Namespace: "ws", Name: cluster, UID: "uid-" + cluster}.String(),
	}}}
}

// run looks at the cluster, and once more when that is due.
func (w *world) run(t *testing.T) *fleet.Cluster {
	t.Helper()
	w.look(t)
	w.clock.SetTime(w.clock.Now().Add(gather))
	return w.look(t)
}

func (w *world) look(t *testing.T) *fleet.Cluster {
	t.Helper()
	c, err := w.clusters.Cache().Get("ws", "c")
	require.NoError(t, err)
	_, err = w.onChange("ws/c", c)
	require.NoError(t, err)
	c, err = w.clusters.Get("ws", "c", metav1.GetOptions{})
	require.NoError(t, err)
	return c
}

func TestTheStatusIsWrittenOnce(t *testing.T) {
	w := newWorld(t)
	assert.Equal(t, "1/1", w.run(t).Status.Display.ReadyBundles)
	w.clusters.Sync()
	assert.Len(t, w.clusters.Writes(), 1)
	w.run(t)
	assert.Empty(t, w.clusters.Writes(), "nothing changed")
}

// An agent may write its cluster's status.
func TestTheNamespaceOfAnotherClusterIsNotCounted(t *testing.T) {
	w := newWorld(t)
	c, err := w.clusters.Get("ws", "c", metav1.GetOptions{})
	require.NoError(t, err)
	c = c.DeepCopy()
	c.Status.Namespace = placeD
	w.clusters.Add(c)
	bd := deployment("foreign", "v1", true, nil)
	bd.Namespace = placeD
	w.deployments.Add(bd)
	w.look(t)
	w.clock.SetTime(w.clock.Now().Add(arriving))
	assert.Equal(t, "0/0", w.look(t).Status.Display.ReadyBundles)
}

func TestADeploymentWakesTheClusterOfItsNamespace(t *testing.T) {
	w := newWorld(t)
	bd := deployment("a", "v1", true, map[string]string{fleet.ClusterLabel: "d"})
	keys, err := w.clusterOf(placeC, "a", bd)
	require.NoError(t, err)
	require.Len(t, keys, 1)
	assert.Equal(t, "c", keys[0].Name, "by the namespace's mark, not by a label")

	keys, err = w.clusterOf("nowhere", "a", bd)
	require.NoError(t, err)
	assert.Empty(t, keys)
}

func TestANamespaceWakesTheClusterThatItSaysItIsOf(t *testing.T) {
	w := newWorld(t)
	keys, err := w.clusterAt("", placeD, place(placeD, "d"))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	assert.Equal(t, "d", keys[0].Name)
	for _, none := range []runtime.Object{nil, &corev1.Namespace{}, &fleet.Cluster{}} {
		keys, err = w.clusterAt("", placeD, none)
		require.NoError(t, err)
		assert.Empty(t, keys)
	}
}

// A hundred bundles on their way to a cluster are not a hundred writes.
func TestAClusterWhoseBundlesAreUnderWayIsWrittenNowAndThen(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(deployment("b", "", false, nil), deployment("c", "", false, nil))
	assert.Equal(t, "1/3", w.run(t).Status.Display.ReadyBundles)

	w.clusters.Sync()
	w.deployments.Add(deployment("b", "v1", true, nil))
	assert.Equal(t, "1/3", w.run(t).Status.Display.ReadyBundles)
	after, ok := w.clusters.After("ws", "c")
	assert.True(t, ok)
	assert.Equal(t, pause-gather, after)

	w.clock.SetTime(w.clock.Now().Add(after))
	assert.Equal(t, "2/3", w.look(t).Status.Display.ReadyBundles)
	w.clusters.Sync()
	w.deployments.Add(deployment("c", "v1", true, nil))
	assert.Equal(t, "3/3", w.run(t).Status.Display.ReadyBundles, "that all is ready is not kept back")
}

// While a cluster joins, others write into its status.
func TestAClusterThatJoinsIsLeftAloneForAWhile(t *testing.T) {
	w := newWorld(t)
	c := w.clusters.Live("ws", "c").DeepCopy()
	c.Status.Agent = fleet.AgentStatus{}
	w.clusters.Add(c)
	w.look(t)
	assert.Empty(t, w.clusters.Writes())
	after, ok := w.clusters.After("ws", "c")
	assert.True(t, ok)
	assert.Equal(t, joining, after)
	w.clock.SetTime(w.clock.Now().Add(joining))
	assert.Equal(t, "WaitCheckIn", w.look(t).Status.Display.State)
}

// What lasts a moment is not written: neither that an agent has not reported which just does, nor that it has no bundle
// which is just made for it.
func TestAClusterThatJoinsIsToldOfOnce(t *testing.T) {
	w := newWorld(t)
	w.deployments.Remove(placeC, "a")
	c := w.clusters.Live("ws", "c").DeepCopy()
	seen := c.Status.Agent
	c.Status.Agent = fleet.AgentStatus{}
	w.clusters.Add(c)
	w.look(t)
	w.clock.SetTime(w.clock.Now().Add(joining - time.Second))
	c = w.clusters.Live("ws", "c").DeepCopy()
	c.Status.Agent = seen
	w.clusters.Add(c)
	w.look(t)
	after, _ := w.clusters.After("ws", "c")
	assert.Equal(t, arriving, after)

	w.clock.SetTime(w.clock.Now().Add(arriving - time.Second))
	w.deployments.Add(deployment("a", "v1", true, nil))
	w.look(t)
	assert.Empty(t, w.clusters.Writes())
	after, _ = w.clusters.After("ws", "c")
	assert.Equal(t, gather, after)
	w.clock.SetTime(w.clock.Now().Add(after))
	assert.Equal(t, "1/1", w.look(t).Status.Display.ReadyBundles)
	assert.Len(t, w.clusters.Writes(), 1)
}
