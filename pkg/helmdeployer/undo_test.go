package helmdeployer

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// refuses has no widget made.
func (w *world) refuses() {
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && onPath(r, "/widgets") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
			return true
		}
		return false
	})
}

// named is an atomic bundle whose release has another name.
func named(release string, manifests ...string) Job {
	job := raw("app", manifests...)
	job.Options.Helm = &fleet.HelmOptions{ReleaseName: release, Atomic: true, TimeoutSeconds: 20}
	return job
}

// H04: a bundle gets another release name, and its first deployment under that fails, once and again. What runs stays what
// it was, and is the old release's; what was new goes. When it can be deployed, it takes everything over.
func TestAFailedNewNameLeavesWhatRuns(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	service := func(port string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: None, ports: [{port: " + port + "}]}\n"
	}
	ports := func() string {
		found, _, err := unstructured.NestedSlice(w.Object("Service", appNamespace, "s").Object, "spec", "ports")
		require.NoError(t, err)
		return fmt.Sprint(found)
	}
	first, err := d.Deploy(t.Context(), named("old", service("80"), configMap("a", "one"), configMap("gone", "one")))
	require.NoError(t, err)
	running := w.Object("ConfigMap", appNamespace, "a").GetUID()
	w.refuses()
	job := named("new", service("81"), configMap("a", "two"), configMap("fresh", "two"), widget)
	job.Release = first.ID
	for range 2 {
		_, err = d.Deploy(t.Context(), job)
		require.ErrorContains(t, err, "has been rolled back due to atomic being set")
		require.ErrorContains(t, err, "a webhook says no")
		assert.True(t, IsFinal(err))
		assert.Equal(t, map[string]any{"key": "one"}, w.data("a"))
		live := w.Object("ConfigMap", appNamespace, "a")
		assert.Equal(t, running, live.GetUID())
		assert.Equal(t, "old", live.GetAnnotations()["meta.helm.sh/release-name"])
		assert.True(t, w.has("ConfigMap", appNamespace, "gone"))
		assert.False(t, w.has("ConfigMap", appNamespace, "fresh"))
		assert.Equal(t, []string{"1 deployed"}, w.states(appNamespace, "old"))
		assert.Equal(t, "[map[port:80]]", ports())
		job.Release = ""
	}
	w.breaks(nil)
	_, err = d.Deploy(t.Context(), job)
	require.NoError(t, err)
	live := w.Object("ConfigMap", appNamespace, "a")
	assert.Equal(t, running, live.GetUID())
	assert.Equal(t, "new", live.GetAnnotations()["meta.helm.sh/release-name"])
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
	assert.True(t, w.has("Widget", appNamespace, "w"))
	assert.False(t, w.has("ConfigMap", appNamespace, "gone"))
	assert.Empty(t, w.states(appNamespace, "old"))
	assert.Equal(t, "[map[port:81]]", ports())
}

// What could not be put back is tried again.
func TestAFailedNewNameThatCannotBeTakenBackIsNotFinal(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), named("old", configMap("a", "one")))
	require.NoError(t, err)
	refused := false
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		refused = refused || r.Method == http.MethodPost && onPath(r, "/widgets")
		if isWrite(r) && refused && !onPath(r, "/secrets") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "field is immutable")
			return true
		}
		return false
	})
	job := named("new", configMap("a", "two"), widget)
	_, err = d.Deploy(t.Context(), job)
	require.ErrorIs(t, err, errHalfway)
	assert.False(t, IsFinal(err))
	w.refuses()
	_, err = d.Deploy(t.Context(), job)
	require.ErrorContains(t, err, "has been rolled back due to atomic being set")
	assert.Equal(t, map[string]any{"key": "one"}, w.data("a"))
}

// H04: a first deployment that fails removes what it made. What others had there stays, whether it was taken over as the
// bundle wants or was the release's before its record went.
func TestAFailedInstallRemovesOnlyWhatItMade(t *testing.T) {
	for name, before := range map[string]func(w *world, d *Deployer){
		"of people": func(w *world, _ *Deployer) {
			w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: appNamespace, Name: "a"}, Data: map[string]string{"mine": "x"}})
		},
		"its own": func(w *world, d *Deployer) {
			_, err := d.Deploy(w.t.Context(), named("app", configMap("a", "one")))
			require.NoError(w.t, err)
			w.Remove("Secret", appNamespace, history.Key("app", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.deployer()
			before(w, d)
			running := w.Object("ConfigMap", appNamespace, "a").GetUID()
			w.refuses()
			job := named("app", configMap("a", "two"), configMap("fresh", "two"), widget)
			job.Options.Helm.TakeOwnership = name == "of people"
			_, err := d.Deploy(t.Context(), job)
			require.ErrorContains(t, err, "but for what was there before it")
			assert.True(t, IsFinal(err))
			require.True(t, w.has("ConfigMap", appNamespace, "a"))
			assert.Equal(t, running, w.Object("ConfigMap", appNamespace, "a").GetUID())
			assert.False(t, w.has("ConfigMap", appNamespace, "fresh"))
			assert.Equal(t, []string{"1 failed"}, w.states(appNamespace, "app"))
			w.breaks(nil)
			_, err = d.Deploy(t.Context(), job)
			require.NoError(t, err)
			assert.Equal(t, running, w.Object("ConfigMap", appNamespace, "a").GetUID())
			assert.True(t, w.has("ConfigMap", appNamespace, "fresh"))
		})
	}
}
