package bundle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// B01: a label that is added or removed brings the bundle or takes it away.
func TestALabelBringsAndTakesTheBundle(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", nil)
	w.bundles.Add(newBundle())
	w.mustLook()
	require.NotNil(t, w.deployment("a"))

	w.relabel("a", map[string]string{"env": "test"})
	after, ok := w.bundles.After(workspace, app)
	require.True(t, ok)
	assert.LessOrEqual(t, after, time.Second)
	w.relabel("b", prod)
	w.mustLook()
	assert.Nil(t, w.deployment("a"))
	assert.NotNil(t, w.deployment("b"))
	assert.Equal(t, "0/1", w.status().Display.ReadyClusters, "B06: what is counted is there")
}

// B03: a cluster that moves from one group to another loses what it had and gets the new in one look; what both have stays.
func TestAClusterMovesBetweenGroups(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"blue", "green"} {
		w.groups.Add(&fleet.ClusterGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name},
			Spec:       fleet.ClusterGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": name}}},
		})
	}
	w.addCluster("a", map[string]string{"team": "blue"})
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Spec.Targets = []fleet.BundleTarget{{ClusterGroup: "blue"}} }))
	w.mustLook()
	first := w.deployment("a")
	require.NotNil(t, first)

	// The group means others now.
	before := w.groups.Live(workspace, "blue")
	changed := before.DeepCopy()
	changed.Spec.Selector.MatchLabels["team"] = "green"
	w.groups.Add(changed)
	w.h.onGroup(before, changed)
	assert.True(t, w.woken())
	w.mustLook()
	assert.Nil(t, w.deployment("a"))

	w.relabel("a", map[string]string{"team": "green"})
	w.mustLook()
	assert.NotNil(t, w.deployment("a"))
}

// B05: edited targets leave nothing behind.
func TestEditedTargetsLeaveNothingBehind(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", nil)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Generation = 2
		b.Spec.Targets = []fleet.BundleTarget{{ClusterName: "b"}}
	}))
	w.mustLook()
	assert.Nil(t, w.deployment("a"))
	assert.NotNil(t, w.deployment("b"))
}

// B18: what the cache says is no proof that something may be removed.
func TestNothingIsRemovedThatTheAPIServerStillWants(t *testing.T) {
	for name, lag := range map[string]func(w *world, cluster *fleet.Cluster){
		"the cluster has its label": func(w *world, cluster *fleet.Cluster) {
			w.clusters.Lag = true
			w.clusters.Add(cluster)
		},
		"the cluster is gone": func(w *world, cluster *fleet.Cluster) {
			w.clusters.Lag = true
			w.clusters.Remove(cluster.Namespace, cluster.Name)
		},
		"the bundle has other targets": func(w *world, _ *fleet.Cluster) {
			w.bundles.Lag = true
			w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2 }))
		},
		"the bundle is gone": func(w *world, _ *fleet.Cluster) {
			w.bundles.Lag = true
			w.bundles.Remove(workspace, app)
		},
	} {
		w := newWorld(t)
		cluster := w.addCluster("a", prod)
		w.bundles.Add(newBundle())
		w.mustLook()
		without := cluster.DeepCopy()
		without.Labels = map[string]string{"env": "other"}
		w.clusters.Add(without)
		lag(w, cluster)
		w.mustLook()
		assert.NotNil(t, w.deployment("a"), name)
	}
}

// That there is no such group, mapping or label is what a cache says too that is behind.
func TestNothingIsRemovedForWhatTheCacheLacks(t *testing.T) {
	blue := map[string]string{"team": "blue"}
	place := names.ClusterNamespace("other", "far")
	setUp := func() *world {
		w := newWorld(t)
		w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: blue}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: place, Annotations: map[string]string{names.ClusterNamespaceAnnotation: "other", names.ClusterAnnotation: "far"},
		}})
		w.clusters.Add(&fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "far", UID: "far", Labels: prod}, Status: fleet.ClusterStatus{Namespace: place},
		})
		w.groups.Add(&fleet.ClusterGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "all", Labels: blue},
			Spec:       fleet.ClusterGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: prod}},
		})
		w.mappings.Add(&fleet.BundleNamespaceMapping{
			ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "m"}, BundleSelector: &metav1.LabelSelector{},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: blue},
		})
		w.bundles.Add(newBundle(func(b *fleet.Bundle) {
			b.Spec.Targets = []fleet.BundleTarget{{ClusterGroupSelector: &metav1.LabelSelector{MatchLabels: blue}}}
		}))
		w.mustLook()
		require.NotNil(t, w.deployments.Live(place, app))
		return w
	}
	for name, test := range map[string]struct{ lag, gone func(w *world) }{
		"a group": {
			lag:  func(w *world) { w.groups.Hide("other", "all") },
			gone: func(w *world) { w.groups.Remove("other", "all") },
		},
		"a mapping": {
			lag:  func(w *world) { w.mappings.Hide(workspace, "m") },
			gone: func(w *world) { w.mappings.Remove(workspace, "m") },
		},
		"a namespace's label": {
			lag: func(w *world) {
				w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
				w.namespaces.Lag = true
				w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: blue}})
			},
			gone: func(w *world) { w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}) },
		},
	} {
		w := setUp()
		test.lag(w)
		w.mustLook()
		assert.NotNil(t, w.deployments.Live(place, app), "%s that the cache lacks", name)
		w = setUp()
		test.gone(w)
		w.mustLook()
		assert.Nil(t, w.deployments.Live(place, app), "%s that is gone", name)
	}
}

func TestALeavingOrRevokedClusterIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*fleet.Cluster){
		"leaving": func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now}; c.Finalizers = []string{"x"} },
		"revoked": func(c *fleet.Cluster) { c.Spec.Revoked = true },
	} {
		w := newWorld(t)
		cluster := w.addCluster("a", prod)
		w.bundles.Add(newBundle())
		w.mustLook()
		before := w.deployment("a")
		changed := cluster.DeepCopy()
		changed.Labels = nil
		change(changed)
		w.clusters.Add(changed)
		w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2; b.Spec.Resources[0].Content = "other" }))
		w.mustLook()
		assert.Equal(t, before, w.deployment("a"), "%s: an agent that still has its credential would uninstall what it loses", name)
		assert.Equal(t, "0/0", w.status().Display.ReadyClusters, name)
	}
}

func TestAMappingOpensClustersAndClosesThem(t *testing.T) {
	w := newWorld(t)
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"open": "yes"}}})
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workspace}})
	place := names.ClusterNamespace("other", "far")
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: place, Annotations: map[string]string{
		names.ClusterNamespaceAnnotation: "other", names.ClusterAnnotation: "far",
	}}})
	w.clusters.Add(&fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "far", Labels: prod}, Status: fleet.ClusterStatus{Namespace: place},
	})
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Labels = map[string]string{"app": "x"} }))
	w.mustLook()
	assert.Zero(t, w.deployments.Len())

	mapping := &fleet.BundleNamespaceMapping{
		ObjectMeta:        metav1.ObjectMeta{Namespace: workspace, Name: "m"},
		BundleSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"open": "yes"}},
	}
	w.mappings.Add(mapping)
	w.h.onMapping(nil, mapping)
	assert.True(t, w.woken())
	w.mustLook()
	require.NotNil(t, w.deployments.Live(place, app))
	assert.Equal(t, []string{"other", workspace}, w.h.sourcesOf("other"))

	// An unreadable mapping closes nothing.
	broken := mapping.DeepCopy()
	broken.NamespaceSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Nonsense"}}
	w.mappings.Add(broken)
	w.mustLook()
	require.NotNil(t, w.deployments.Live(place, app))

	w.mappings.Remove(workspace, "m")
	w.h.onMapping(mapping, nil)
	w.mustLook()
	assert.Nil(t, w.deployments.Live(place, app))
}

func TestALabelOfANamespaceWakesTheBundlesThatItOpens(t *testing.T) {
	w := newWorld(t)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Labels = map[string]string{"app": "x"} }))
	w.mappings.Add(&fleet.BundleNamespaceMapping{
		ObjectMeta:        metav1.ObjectMeta{Namespace: workspace, Name: "m"},
		BundleSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"open": "yes"}},
	})
	closed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	open := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"open": "yes"}}}
	w.h.onNamespace(closed, closed.DeepCopy())
	assert.False(t, w.woken())
	w.h.onNamespace(open, closed)
	assert.True(t, w.woken(), "what it opened before counts too")
}

// C08: a heartbeat of a cluster is nobody's business here.
func TestAHeartbeatWakesNoBundle(t *testing.T) {
	w := newWorld(t)
	before := w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	for name, change := range map[string]func(*fleet.Cluster){
		"last seen":  func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(now) },
		"counts":     func(c *fleet.Cluster) { c.Status.Summary.Ready = 7 },
		"generation": func(c *fleet.Cluster) { c.Status.Agent.Generation = "x" },
		"credential": func(c *fleet.Cluster) { c.Status.Credential = &fleet.CredentialStatus{Type: "x"} },
		"import":     func(c *fleet.Cluster) { c.Annotations = map[string]string{names.ImportAnnotation: "{}"} },
	} {
		after := before.DeepCopy()
		change(after)
		w.h.onCluster(before, after)
		assert.False(t, w.woken(), name)
	}
	after := before.DeepCopy()
	after.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.ClusterConditionAgentConnected, Status: corev1.ConditionFalse}}
	w.h.onCluster(before, after)
	assert.True(t, w.woken(), "a rollout need not wait for a cluster that is silent")
}

// There is a bundle for the agent of every cluster: a change of one cluster is not to look at all of them.
func TestABundleThatNamesItsClustersIsNotWokenByOthers(t *testing.T) {
	w := newWorld(t)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Spec.Targets = []fleet.BundleTarget{{ClusterName: "a"}, {ClusterName: "Shown"}}
	}))
	other := w.addCluster("b", prod)
	w.h.onCluster(nil, other)
	assert.False(t, w.woken())
	shown := w.addCluster("c", map[string]string{names.DisplayNameLabel: "Shown"})
	w.h.onCluster(nil, shown)
	assert.True(t, w.woken())
	w.mustLook()
	assert.Equal(t, 1, w.deployments.Len())
	assert.NotNil(t, w.deployment("c"))
}
