package clustergroup

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

type world struct {
	*handler
	groups   *controllertest.Controller[*fleet.ClusterGroup, *fleet.ClusterGroupList]
	clusters *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		groups:   controllertest.New[*fleet.ClusterGroup, *fleet.ClusterGroupList]("fleet.cattle.io", "clustergroups"),
		clusters: controllertest.New[*fleet.Cluster, *fleet.ClusterList]("fleet.cattle.io", "clusters"),
	}
	w.handler = &handler{Deps{Groups: w.groups, Clusters: w.clusters, Clock: clocktesting.NewFakePassiveClock(now)}}
	return w
}

func group(name string, selector *metav1.LabelSelector) *fleet.ClusterGroup {
	return &fleet.ClusterGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: name, UID: "g"}, Spec: fleet.ClusterGroupSpec{Selector: selector}}
}

func env(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"env": value}}
}

func cluster(name, environment string, ready bool) *fleet.Cluster {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: name, Labels: map[string]string{"env": environment}}}
	status := metav1.ConditionFalse
	c.Status.Summary = fleet.BundleSummary{DesiredReady: 2, Ready: 1, NotReady: 1}
	if ready {
		status = metav1.ConditionTrue
		c.Status.Summary = fleet.BundleSummary{DesiredReady: 2, Ready: 2}
	}
	c.Status.ResourceCounts = fleet.ResourceCounts{DesiredReady: 5, Ready: 5}
	conditions.SetCondition(&c.Status.Conditions, fleet.ClusterConditionReady, status, "", "", now)
	return c
}

func (w *world) run(t *testing.T, name string) *fleet.ClusterGroup {
	t.Helper()
	w.groups.Sync()
	g, err := w.groups.Cache().Get("ws", name)
	require.NoError(t, err)
	_, err = w.onChange("ws/"+name, g)
	require.NoError(t, err)
	return w.groups.Live("ws", name)
}

func TestAGroupAddsUpItsClusters(t *testing.T) {
	w := newWorld(t)
	w.groups.Add(group("prod", env("prod")))
	w.clusters.Add(cluster("b", "prod", false), cluster("a", "prod", true), cluster("c", "dev", false))

	g := w.run(t, "prod")
	assert.Equal(t, 2, g.Status.ClusterCount)
	assert.Equal(t, 1, g.Status.NonReadyClusterCount)
	assert.Equal(t, []string{"b"}, g.Status.NonReadyClusters)
	assert.Equal(t, "1/2 (b)", g.Status.Display.ReadyClusters)
	assert.Equal(t, "3/4", g.Status.Display.ReadyBundles)
	assert.Equal(t, "NotReady", g.Status.Display.State)
	assert.Equal(t, fleet.ResourceCounts{DesiredReady: 10, Ready: 10}, g.Status.ResourceCounts)
	assert.False(t, conditions.IsTrue(g.Status.Conditions, fleet.ClusterGroupConditionReady))

	assert.Len(t, w.groups.Writes(), 1)
	w.run(t, "prod")
	assert.Empty(t, w.groups.Writes(), "nothing changed")
}

// B02, B03: the group that a cluster leaves hears of it as well as the one that it joins.
func TestAClusterThatMovesIsCountedWhereItIs(t *testing.T) {
	w := newWorld(t)
	w.groups.Add(group("prod", env("prod")), group("dev", env("dev")))
	before, after := cluster("a", "prod", true), cluster("a", "dev", true)
	for _, c := range []*fleet.Cluster{before, after} {
		keys, err := w.groupsOf("ws", "a", c)
		require.NoError(t, err)
		require.Len(t, keys, 1)
		assert.Equal(t, c.Labels["env"], keys[0].Name)
	}
	w.clusters.Add(before)
	assert.Equal(t, 1, w.run(t, "prod").Status.ClusterCount)
	w.clusters.Add(after)
	assert.Equal(t, 0, w.run(t, "prod").Status.ClusterCount)
	assert.Equal(t, 1, w.run(t, "dev").Status.ClusterCount)
}

func TestAGroupWithoutASelectorIsEmpty(t *testing.T) {
	w := newWorld(t)
	w.groups.Add(group("none", nil), group("all", &metav1.LabelSelector{}))
	w.clusters.Add(cluster("a", "prod", true))
	none := w.run(t, "none")
	assert.Equal(t, "0/0", none.Status.Display.ReadyClusters)
	assert.True(t, conditions.IsTrue(none.Status.Conditions, fleet.ClusterGroupConditionReady))
	assert.Equal(t, 1, w.run(t, "all").Status.ClusterCount)
}

func TestABrokenSelectorIsToldAndKeepsTheFigures(t *testing.T) {
	w := newWorld(t)
	w.groups.Add(group("g", env("prod")))
	w.clusters.Add(cluster("a", "prod", true))
	g := w.run(t, "g").DeepCopy()
	g.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Near"}}}
	w.groups.Add(g)

	g = w.run(t, "g")
	assert.Equal(t, 1, g.Status.ClusterCount)
	processed := conditions.GetCondition(g.Status.Conditions, fleet.ClusterGroupConditionProcessed)
	require.NotNil(t, processed)
	assert.Equal(t, "InvalidSelector", processed.Reason)
	assert.Contains(t, processed.Message, "ClusterGroup ws/g: spec.selector")

	g = g.DeepCopy()
	g.Spec.Selector = env("prod")
	w.groups.Add(g)
	assert.True(t, conditions.IsTrue(w.run(t, "g").Status.Conditions, fleet.ClusterGroupConditionProcessed))
}

func TestAGroupNamesTenOfThoseThatAreNotReady(t *testing.T) {
	w := newWorld(t)
	w.groups.Add(group("prod", env("prod")))
	for i := range 500 {
		w.clusters.Add(cluster(fmt.Sprintf("c-%03d", i), "prod", false))
	}
	g := w.run(t, "prod")
	assert.Equal(t, 500, g.Status.NonReadyClusterCount)
	assert.Len(t, g.Status.NonReadyClusters, 10)
}

// Five hundred clusters whose status says all that an agent that means harm can write.
func TestTheStatusOfAGroupStaysSmallHoweverManyClustersFail(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("<\x01", 5_000)
	var failing []fleet.NonReadyResource
	for range 300 {
		failing = append(failing, fleet.NonReadyResource{
			Name: text, State: fleet.NotReady, Message: text, ModifiedStatus: []fleet.ModifiedStatus{{Name: text, Patch: text}},
		})
	}
	for i := range 500 {
		c := cluster(fmt.Sprintf("c%03d", i), "prod", false)
		c.Status.Summary = fleet.BundleSummary{DesiredReady: 300, NotReady: 300, NonReadyResources: failing}
		w.clusters.Add(c)
	}
	w.groups.Add(group("g", env("prod")))
	g := w.run(t, "g")

	encoded, err := json.Marshal(g.Status)
	require.NoError(t, err)
	assert.Less(t, len(encoded), 256<<10)
	assert.Equal(t, 500*300, g.Status.Summary.NotReady)
	assert.Equal(t, 500, g.Status.NonReadyClusterCount)
}
