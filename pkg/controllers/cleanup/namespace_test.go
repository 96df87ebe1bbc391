package cleanup

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/names"
)

// R12, and the cases of the reference: a namespace goes only if the API server says that its Cluster is gone.
func TestNamespaceGoesOnlyWithItsCluster(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*world)
		change  func(*corev1.Namespace)
		gone    bool
	}{
		"Cluster in cache":         {prepare: func(w *world) { w.clusters.Add(cluster("c", "1")) }},
		"Cluster not in cache yet": {prepare: func(w *world) { w.clusters.Lag = true; w.clusters.Add(cluster("c", "1")) }},
		"Cluster gone":             {gone: true},
		"Cluster still in cache, with UID": {prepare: func(w *world) {
			w.clusters.Add(cluster("c", "1"))
			w.clusters.Lag = true
			w.clusters.Remove(workspace, "c")
		}},
		"restored with another UID":  {prepare: func(w *world) { w.clusters.Add(cluster("c", "2")) }},
		"restored, not in cache yet": {prepare: func(w *world) { w.clusters.Lag = true; w.clusters.Add(cluster("c", "2")) }},
		"restored, the old one in cache": {prepare: func(w *world) {
			w.clusters.Add(cluster("c", "1"))
			w.clusters.Lag = true
			w.clusters.Remove(workspace, "c")
			w.clusters.Add(cluster("c", "2"))
		}},
		"restored, and gone again": {prepare: func(w *world) {
			w.clusters.Add(cluster("c", "2"))
			w.clusters.Lag = true
			w.clusters.Remove(workspace, "c")
		}, gone: true},
		"restored, and on its way out": {prepare: func(w *world) {
			c := cluster("c", "2")
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: start}, []string{names.ClusterFinalizer}
			w.clusters.Add(c)
		}},
		"made anew, and uses it": {prepare: func(w *world) {
			c := cluster("c", "2")
			c.Status.Namespace = names.ClusterNamespace(workspace, "c")
			w.clusters.Add(c)
		}},
		"made anew, but lives elsewhere":    {prepare: func(w *world) { c := cluster("c", "2"); c.Status.Namespace = "elsewhere"; w.clusters.Add(c) }},
		"another of the workspace":          {prepare: func(w *world) { w.clusters.Add(cluster("d", "1")) }, gone: true},
		"the same name elsewhere":           {prepare: func(w *world) { c := cluster("c", "1"); c.Namespace = "other"; w.clusters.Add(c) }, gone: true},
		"without UID, Cluster of that name": {prepare: func(w *world) { w.clusters.Add(cluster("c", "2")) }, change: withoutOwner},
		"without UID, Cluster gone":         {change: withoutOwner, gone: true},
		"without UID, another name":         {change: func(ns *corev1.Namespace) { withoutOwner(ns); ns.Name = "prod" }},
		"another name, whatever its owner":  {change: func(ns *corev1.Namespace) { ns.Name = "payments-db" }}, // whoever may edit it wrote the marks
		"no managed label":                  {change: func(ns *corev1.Namespace) { ns.Labels = nil }},
		"one annotation missing":            {change: func(ns *corev1.Namespace) { delete(ns.Annotations, names.ClusterAnnotation) }},
		"other annotation missing":          {change: func(ns *corev1.Namespace) { delete(ns.Annotations, names.ClusterNamespaceAnnotation) }},
		"annotations contradict":            {change: func(ns *corev1.Namespace) { ns.Annotations[names.ClusterAnnotation] = "other" }},
		"owner is no Cluster":               {change: func(ns *corev1.Namespace) { ns.Annotations[names.OwnerAnnotation] = owner("Bundle", "c", "1") }},
		"the hub's own":                     {change: func(ns *corev1.Namespace) { ns.Name = hub.Registration }},
		"of a readmitted Cluster, gone":     {change: ofRound("2", 2), gone: true},
		"the number is not its name's":      {change: ofRound("3", 2)},
		"the number cannot be read":         {change: ofRound("two", 2)},
		"already on its way":                {change: func(ns *corev1.Namespace) { ns.DeletionTimestamp = &metav1.Time{Time: start} }},
		"younger than a restore takes":      {change: func(ns *corev1.Namespace) { ns.CreationTimestamp = metav1.NewTime(start.Add(51 * time.Minute)) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ns := clusterNamespace("c", "1")
			if test.change != nil {
				test.change(ns)
			}
			w.namespaces.Add(ns)
			if test.prepare != nil {
				test.prepare(w)
				w.writes()
			}
			_, err := w.onNamespace(ns.Name, w.namespaces.Live("", ns.Name))
			require.NoError(t, err)
			assert.Equal(t, test.gone, w.namespaces.Live("", ns.Name) == nil)
		})
	}
}

func ofRound(mark string, round int) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) {
		ns.Name = names.ClusterPlace(workspace, "c", round)
		ns.Annotations[names.PlaceAnnotation] = mark
	}
}

func withoutOwner(ns *corev1.Namespace) { delete(ns.Annotations, names.OwnerAnnotation) }

func TestDeletedNamespaceIsNothingToDo(t *testing.T) {
	w := newWorld(t)
	_, err := w.onNamespace("c", nil)
	require.NoError(t, err)
	assert.Empty(t, w.writes())
}

func TestYoungNamespaceIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	ns := clusterNamespace("c", "1")
	ns.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-4 * time.Minute))
	w.namespaces.Add(ns)
	_, err := w.onNamespace(ns.Name, ns)
	require.NoError(t, err)
	after, ok := w.namespaces.After("", ns.Name)
	assert.True(t, ok)
	assert.Equal(t, 6*time.Minute, after)
}

// An answer that is no answer is no proof: the error is returned and nothing goes.
func TestDoubtKeepsTheNamespace(t *testing.T) {
	resource := schema.GroupResource{Group: "fleet.cattle.io", Resource: "clusters"}
	notServed := apierrors.NewGenericServerResponse(404, "get", resource, "c", "404 page not found", 0, true)
	require.True(t, apierrors.IsNotFound(notServed), "which looks like an answer")
	for name, fault := range map[string]error{
		"timeout":         errors.New("timeout"),
		"forbidden":       apierrors.NewForbidden(resource, "c", errors.New("no")),
		"kind not served": notServed,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ns := clusterNamespace("c", "1")
			w.namespaces.Add(ns)
			w.clusters.Fail = func(string, string) error { return fault }
			_, err := w.onNamespace(ns.Name, ns)
			require.ErrorIs(t, err, fault)
			assert.Empty(t, w.namespaces.Writes())
			w.round(t.Context())
			assert.Empty(t, w.namespaces.Writes())
		})
	}
}

func TestNamespaceThatWasChangedMeanwhileStays(t *testing.T) {
	w := newWorld(t)
	ns := clusterNamespace("c", "1")
	w.namespaces.Add(ns)
	judged := w.namespaces.Live("", ns.Name)
	changed := w.namespaces.Live("", ns.Name)
	changed.Labels["rescued"] = "true"
	_, err := w.namespaces.Update(changed)
	require.NoError(t, err)
	_, err = w.onNamespace(ns.Name, judged)
	require.NoError(t, err)
	assert.NotNil(t, w.namespaces.Live("", ns.Name))
}
