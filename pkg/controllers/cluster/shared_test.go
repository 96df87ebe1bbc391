package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func pinned(uid string) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, names.IdentityAnnotation, registration.Pin{Fingerprint: "f", ClusterUID: uid}.Annotation())
	}
}

func imported(uid string) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, names.ImportAnnotation, registration.Import{ClusterUID: uid}.Annotation())
	}
}

func another(namespace, name string, change ...func(*fleet.Cluster)) *fleet.Cluster {
	c := newCluster(append([]func(*fleet.Cluster){prepare}, change...)...)
	c.Namespace, c.Name, c.UID = namespace, name, types.UID("uid-of-"+namespace+"-"+name)
	return c
}

func TestOneClusterBehindTwoClustersIsShownOnBoth(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, imported("real")), another("other", "twin", pinned("real")), another(workspace, "stranger", pinned("elsewhere")))
	h.looks(t, 1)

	unique := h.condition(t, fleet.ClusterConditionUnique)
	assert.Equal(t, corev1.ConditionFalse, unique.Status)
	assert.Equal(t, "SharedCluster", unique.Reason)
	assert.Contains(t, unique.Message, "is behind other Clusters, 1 of other workspaces:")
	assert.NotContains(t, unique.Message, "twin", "who claims a UID is not told whose it is")
	assert.NotContains(t, unique.Message, "stranger")

	h.onSharer(nil, h.edge())
	_, woken := h.clusters.After("other", "twin")
	assert.True(t, woken, "the other one is looked at too")
	_, woken = h.clusters.After(workspace, "stranger")
	assert.False(t, woken)

	twin := h.clusters.Live("other", "twin")
	_, err := h.onChange("other/twin", twin)
	require.NoError(t, err)
	assert.Equal(t, corev1.ConditionFalse, conditions.GetCondition(h.clusters.Live("other", "twin").Status.Conditions, fleet.ClusterConditionUnique).Status)
	h.writes()
	h.looks(t, 1)
	assert.Empty(t, h.writes())

	before := h.clusters.Live("other", "twin")
	twin = before.DeepCopy()
	twin.Status.Namespace = "elsewhere"
	h.clusters.ForgetTimers()
	h.onSharer(before, twin)
	_, woken = h.clusters.After(workspace, edge)
	assert.False(t, woken, "what else changes is nobody's business")
	twin.Spec.Revoked = true
	h.clusters.Add(twin)
	h.onSharer(before, twin)
	_, woken = h.clusters.After(workspace, edge)
	require.True(t, woken, "whom it leaves is told")
	h.looks(t, 1)
	assert.Equal(t, corev1.ConditionTrue, h.condition(t, fleet.ClusterConditionUnique).Status)
}

func TestAClusterOfItsOwnSaysNothing(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare, imported("real"), pinned("real")), another("other", "going", imported("real"), deleted))
	h.looks(t, 1)
	assert.Nil(t, conditions.GetCondition(h.edge().Status.Conditions, fleet.ClusterConditionUnique))
}

func TestWhoSharesIsNamedWithinBounds(t *testing.T) {
	var many []*fleet.Cluster
	for _, name := range []string{"d", "b", "e", "a", "c"} {
		many = append(many, another("ws", name))
	}
	assert.Equal(t, "ws/a, ws/b, ws/c and 2 more", sharers("ws", many))
	assert.Equal(t, "5 of other workspaces", sharers("other", many))
	assert.Equal(t, "other/z, 5 of other workspaces", sharers("other", append(many, another("other", "z"))))
	assert.Empty(t, sharers("ws", nil))
}
