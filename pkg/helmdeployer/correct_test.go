package helmdeployer

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec: {size: small, shape: round}\n"

// edits changes an object as somebody else would.
func (w *world) edits(kind, name string, edit func(*unstructured.Unstructured)) {
	w.t.Helper()
	object := w.Object(kind, appNamespace, name)
	require.NotNil(w.t, object)
	object = object.DeepCopy()
	edit(object)
	object.SetResourceVersion("")
	w.Put(object)
}

// H05: in every mode, what was changed, removed or deleted is set back, of built-in and of foreign kinds; what others added
// beside it is theirs.
func TestDriftIsCorrectedInEveryMode(t *testing.T) {
	for _, force := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("force=%v keepFailHistory=%v", force, keep), func(t *testing.T) {
				w := newWorld(t)
				d := w.deployer()
				deployed, err := d.Deploy(t.Context(), raw("app", configMap("a", "one"), configMap("b", "one"), widget))
				require.NoError(t, err)
				w.edits("ConfigMap", "a", func(o *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(o.Object, "changed", "data", "key")
					_ = unstructured.SetNestedField(o.Object, "mine", "data", "added")
				})
				w.Remove("ConfigMap", appNamespace, "b")
				w.edits("Widget", "w", func(o *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(o.Object, "big", "spec", "size")
					unstructured.RemoveNestedField(o.Object, "spec", "shape")
				})
				got, err := d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true, Force: force, KeepFailHistory: keep})
				require.NoError(t, err)
				assert.Equal(t, deployed, got)
				assert.Equal(t, map[string]any{"key": "one", "added": "mine"}, w.data("a"))
				assert.Equal(t, map[string]any{"key": "one"}, w.data("b"))
				assert.Equal(t, map[string]any{"size": "small", "shape": "round"}, w.Object("Widget", appNamespace, "w").Object["spec"])
				assert.Equal(t, "app", w.Object("ConfigMap", appNamespace, "b").GetAnnotations()["meta.helm.sh/release-name"])
			})
		}
	}
}

// H08: however often drift is corrected, and however often that fails, the history stays as long as it may be.
func TestCorrectionsDoNotGrowTheHistory(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	deployed, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	for range 5 {
		w.Remove("ConfigMap", appNamespace, "a")
		_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"1 deployed"}, w.states(appNamespace, "app"))

	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && onPath(r, "/configmaps") {
			kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "not now")
			return true
		}
		return false
	})
	w.Remove("ConfigMap", appNamespace, "a")
	for range 5 {
		_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
		require.ErrorContains(t, err, "not now")
	}
	assert.Equal(t, []string{"1 deployed"}, w.states(appNamespace, "app"))
	for range 5 {
		_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true, KeepFailHistory: true})
		require.ErrorContains(t, err, "not now")
	}
	states := w.states(appNamespace, "app")
	assert.Len(t, states, 2)
	assert.Equal(t, "1 deployed", states[0], "the good revision is never dropped for a failed one")

	w.breaks(nil)
	_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
	require.NoError(t, err)
	assert.True(t, w.has("ConfigMap", appNamespace, "a"))
}

func TestNothingIsWrittenWhereNothingDrifted(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	deployed, err := d.Deploy(t.Context(), raw("app", configMap("a", "one"), widget))
	require.NoError(t, err)
	w.Reset()
	_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true, Force: true})
	require.NoError(t, err)
	assert.Empty(t, w.Writes())
}

func TestARevisionThatIsNotDeployedIsNotAppliedAgain(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	first, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	_, err = d.Deploy(t.Context(), raw("app", configMap("a", "two")))
	require.NoError(t, err)
	_, err = d.Correct(t.Context(), first.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
	require.ErrorIs(t, err, ErrTaken)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
	_, err = d.Correct(t.Context(), "apps/app:9", ownerOf("app"), fleet.CorrectDrift{Enabled: true})
	require.ErrorIs(t, err, ErrNoRelease)
}

// With force, what cannot be changed is removed and made again; what holds data or other objects is not.
func TestForceMakesAgainWhatCannotBeChanged(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	deployed, err := d.Deploy(t.Context(), raw("app", widget))
	require.NoError(t, err)
	w.edits("Widget", "w", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "big", "spec", "size")
		_ = unstructured.SetNestedField(o.Object, "of the old one", "spec", "added")
	})
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && onPath(r, "/widgets/w") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.size: field is immutable")
			return true
		}
		return false
	})
	_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
	require.ErrorContains(t, err, "field is immutable")
	_, err = d.Correct(t.Context(), deployed.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true, Force: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"size": "small", "shape": "round"}, w.Object("Widget", appNamespace, "w").Object["spec"])
}
