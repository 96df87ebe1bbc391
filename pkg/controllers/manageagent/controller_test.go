package manageagent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/agentbundle"
	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/desired"
	"github.com/rancher/fleet/pkg/names"
)

const (
	workspace = "fleet-default"
	edge      = "edge"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func settings(c config.Config) agentmanifest.Settings {
	base := agentmanifest.Settings{SystemNamespace: names.DefaultSystemNamespace, DefaultImage: "rancher/fleet-agent:v1"}
	return base.WithConfig(c)
}

// cluster is one that has registered.
func cluster(changes ...func(*fleet.Cluster)) *fleet.Cluster {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: edge, UID: "uid-of-edge"}}
	conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionRegistered, metav1.ConditionTrue, "Test", "", now)
	c.Status.Agent.LastSeen = metav1.NewTime(now)
	for _, f := range changes {
		f(c)
	}
	return c
}

func badOptions(c *fleet.Cluster) {
	c.Spec.AgentTolerations = []corev1.Toleration{{Operator: "Sometimes"}}
}

// hub is the controller over memory; it is its own set of bundles.
type hub struct {
	*handler
	clusters *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	written  *controllertest.Controller[*fleet.Bundle, *fleet.BundleList]
	clock    *clocktesting.FakePassiveClock
	applied  []runtime.Object
	owner    desired.Owner
	calls    []string
	fails    error
}

func newHub(t *testing.T, cfg string) *hub {
	t.Helper()
	h := &hub{
		clusters: controllertest.New[*fleet.Cluster, *fleet.ClusterList]("fleet.cattle.io", "clusters"),
		written:  controllertest.New[*fleet.Bundle, *fleet.BundleList]("fleet.cattle.io", "bundles"),
		clock:    clocktesting.NewFakePassiveClock(now),
	}
	source := config.NewSource("v1")
	_, err := source.Load(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: cfg}})
	require.NoError(t, err)
	h.handler = &handler{
		Deps:    Deps{Clusters: h.clusters, Bundles: h.written, Config: source, Settings: settings, Clock: h.clock, Agents: agentbundle.NewLedger()},
		bundles: h, ctx: context.Background(), recent: newRecent(),
	}
	h.waves = newTable(h.handler)
	h.addIndexer()
	return h
}

func (h *hub) Apply(_ context.Context, owner desired.Owner, objs ...runtime.Object) error {
	h.calls = append(h.calls, "apply "+owner.GetNamespace()+"/"+owner.GetName())
	h.owner, h.applied = owner, objs
	if h.fails == nil {
		bundle := objs[0].DeepCopyObject().(*fleet.Bundle)
		bundle.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: owner.GetName(), UID: owner.GetUID()}}
		h.written.Add(bundle)
	}
	return h.fails
}

func (h *hub) Remove(_ context.Context, kind schema.GroupVersionKind, namespace, name string) error {
	h.calls = append(h.calls, "remove "+kind.Kind+" "+namespace+"/"+name)
	return h.fails
}

func (h *hub) look(t *testing.T) ([]string, error) {
	t.Helper()
	c, err := h.clusters.Cache().Get(workspace, edge)
	require.NoError(t, err)
	_, err = h.onChange(workspace+"/"+edge, c)
	calls := append(h.calls, h.clusters.Writes()...)
	h.calls = nil
	return calls, err
}

// N02, E03: the bundle belongs to the Cluster, and goes with it.
func TestTheBundleIsAppliedForItsClusterAndWritesNothingElse(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	for range 2 {
		calls, err := h.look(t)
		require.NoError(t, err)
		assert.Equal(t, []string{"apply fleet-default/edge"}, calls, "that all is well needs no condition when nothing was wrong")
	}
	assert.Equal(t, "uid-of-edge", string(h.owner.GetUID()))
	require.Len(t, h.applied, 1)
	assert.Equal(t, "fleet-agent-edge", h.applied[0].(*fleet.Bundle).Name)
}

func TestWhatIsNotOursToDecideIsKept(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }))
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)

	got, err := h.onChange(workspace+"/"+edge, nil)
	require.NoError(t, err)
	assert.Nil(t, got)
	assert.Empty(t, h.calls)
}

func TestWhereAgentsAreNotManagedTheBundleGoes(t *testing.T) {
	h := newHub(t, "manageAgent: false")
	h.clusters.Add(cluster())
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"remove Cluster fleet-default/edge"}, calls)
}

func TestBadOptionsAreSaidOnceAndTakenBack(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster(badOptions))
	calls, err := h.look(t)
	require.NoError(t, err, "to try again before a person corrects it is of no use")
	assert.Equal(t, []string{"updateStatus fleet-default/edge"}, calls)
	c := conditions.GetCondition(h.clusters.Live(workspace, edge).Status.Conditions, fleet.ClusterConditionReconciled)
	assert.Equal(t, corev1.ConditionFalse, c.Status)
	assert.Equal(t, "InvalidAgentOptions", c.Reason)
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls)

	good := h.clusters.Live(workspace, edge)
	good.Spec.AgentTolerations = nil
	h.clusters.Add(good)
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge", "updateStatus fleet-default/edge"}, calls)
	assert.True(t, conditions.IsTrue(h.clusters.Live(workspace, edge).Status.Conditions, fleet.ClusterConditionReconciled))
}

func TestAFailureNamesTheCluster(t *testing.T) {
	for _, cfg := range []string{"{}", "manageAgent: false"} {
		h := newHub(t, cfg)
		h.clusters.Add(cluster())
		h.fails = errors.New("no")
		_, err := h.look(t)
		require.ErrorContains(t, err, "no")
		assert.ErrorContains(t, err, "fleet-default/edge")
	}
}

// A new image reaches all agents without another trigger.
func TestAConfigurationHasEveryClusterLookedAt(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster(), cluster(func(c *fleet.Cluster) { c.Namespace, c.Name = "other", "b" }))
	require.NoError(t, h.onConfig(t.Context(), config.Config{}))
	for _, key := range [][2]string{{workspace, edge}, {"other", "b"}} {
		after, ok := h.clusters.After(key[0], key[1])
		assert.True(t, ok)
		assert.Zero(t, after)
	}
}

func TestABundleThatIsEditedOrDeletedBringsItsClusterBack(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster(), cluster(func(c *fleet.Cluster) { c.Namespace = "other" }))
	for name, test := range map[string]struct {
		bundle string
		want   []relatedresource.Key
	}{
		"the agent's":                {"fleet-agent-edge", []relatedresource.Key{{Namespace: workspace, Name: edge}}},
		"another":                    {"apps", nil},
		"with a name that begins so": {"fleet-agent-edge-2", nil},
	} {
		keys, err := h.clusterOfBundle(workspace, test.bundle, nil)
		require.NoError(t, err, name)
		assert.Equal(t, test.want, keys, name)
	}
}

// What somebody deploys under the name of an agent's bundle stays as it is; the agent waits for the name.
func TestABundleThatOnlyHasTheNameIsNotTakenOver(t *testing.T) {
	h := newHub(t, "{}")
	h.clusters.Add(cluster())
	foreign := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge"}}
	h.written.Add(foreign)
	calls, err := h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"updateStatus fleet-default/edge"}, calls)
	c := conditions.GetCondition(h.clusters.Live(workspace, edge).Status.Conditions, fleet.ClusterConditionReconciled)
	assert.Equal(t, corev1.ConditionFalse, c.Status)
	assert.Equal(t, "AgentBundleTaken", c.Reason)
	assert.Contains(t, c.Message, "Bundle fleet-agent-edge is not the hub's")
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Empty(t, calls, "it is said once")

	h.written.Remove(workspace, "fleet-agent-edge")
	calls, err = h.look(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"apply fleet-default/edge", "updateStatus fleet-default/edge"}, calls)
	assert.True(t, conditions.IsTrue(h.clusters.Live(workspace, edge).Status.Conditions, fleet.ClusterConditionReconciled))
}

// The bundle of an earlier Cluster of the name goes by itself.
func TestABundleThatIsGoingIsWaitedForInSilence(t *testing.T) {
	for name, change := range map[string]func(*fleet.Bundle){
		"deleted": func(b *fleet.Bundle) { b.DeletionTimestamp = &metav1.Time{Time: now} },
		"an earlier Cluster's": func(b *fleet.Bundle) {
			b.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: edge, UID: "uid-of-the-earlier"}}
		},
	} {
		h := newHub(t, "{}")
		h.clusters.Add(cluster())
		b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge"}}
		change(b)
		h.written.Add(b)
		calls, err := h.look(t)
		require.NoError(t, err, name)
		assert.Empty(t, calls, name)
	}
}
