package helmdeployer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// dies lets an agent make a number of writes and then ends it: nothing that it asks for is answered any more. It says
// whether that has happened.
func (w *world) dies(after int64) (died func() bool) {
	var writes atomic.Int64
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) {
			writes.Add(1)
		}
		if writes.Load() <= after {
			return false
		}
		kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "the agent is dead")
		return true
	})
	return func() bool { return writes.Load() > after }
}

// H01, H02, H04: an agent dies at any write of an install or of an upgrade, and the next one completes it by an upgrade.
// What the bundle has is never removed for that, and what only the dead one's attempt had does not stay.
func TestTheNextAgentCompletesWhatADeadOneBegan(t *testing.T) {
	hook := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}\n"
	bundle := func(value string, extra ...string) Job {
		templates := map[string]string{"templates/hook.yaml": hook}
		for _, name := range append([]string{"a", "b"}, extra...) {
			templates["templates/"+name+".yaml"] = configMap(name, value)
		}
		return chart("app", templates)
	}
	for _, upgrade := range []bool{false, true} {
		t.Run(fmt.Sprintf("upgrade=%v", upgrade), func(t *testing.T) {
			for point := int64(0); ; point++ {
				w := newWorld(t)
				if upgrade {
					_, err := w.deployer().Deploy(t.Context(), bundle("old", "old"))
					require.NoError(t, err)
				}
				w.Reset()
				died := w.dies(point)
				_, failed := w.deployer().Deploy(t.Context(), bundle("dead", "dead"))
				if !died() {
					require.NoError(t, failed)
					require.Greater(t, point, int64(4), "an operation has more writes than that")
					return
				}
				w.breaks(nil)
				got, err := w.deployer().Deploy(t.Context(), bundle("new", "new"))
				require.NoError(t, err, "died after %d writes (%v)", point, failed)
				for _, name := range []string{"a", "b", "new"} {
					assert.Equal(t, map[string]any{"key": "new"}, w.data(name), "died after %d writes", point)
				}
				assert.False(t, w.has("ConfigMap", appNamespace, "dead"), "died after %d writes", point)
				assert.False(t, w.has("ConfigMap", appNamespace, "old"), "died after %d writes", point)
				for _, request := range w.Writes() {
					if request.Verb == "delete" {
						kept := strings.HasSuffix(request.Path, "/configmaps/a") || strings.HasSuffix(request.Path, "/configmaps/b")
						assert.False(t, kept, "%s was removed, after %d writes", request.Path, point)
					}
				}
				states := w.states(appNamespace, "app")
				assert.LessOrEqual(t, len(states), 2, "%v", states)
				assert.Equal(t, "deployed", strings.Fields(states[len(states)-1])[1])
				assert.True(t, strings.HasSuffix(got.ID, ":"+strings.Fields(states[len(states)-1])[0]))
			}
		})
	}
}

// What a dead agent set in an object is taken away as what the release had: a port stands beside no other.
func TestWhatADeadAgentSetDoesNotStay(t *testing.T) {
	service := func(port string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: " + port + "}]}\n"
	}
	sized := func(field string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {" + field + ": set}\n"
	}
	for point := int64(0); ; point++ {
		w := newWorld(t)
		_, err := w.deployer().Deploy(t.Context(), raw("app", service("80"), sized("first")))
		require.NoError(t, err)
		died := w.dies(point)
		_, err = w.deployer().Deploy(t.Context(), raw("app", service("81"), sized("second")))
		if !died() {
			require.NoError(t, err)
			return
		}
		w.breaks(nil)
		_, err = w.deployer().Deploy(t.Context(), raw("app", service("82"), sized("third")))
		require.NoError(t, err)
		ports, _, err := unstructured.NestedSlice(w.Object("Service", appNamespace, "s").Object, "spec", "ports")
		require.NoError(t, err)
		assert.Len(t, ports, 1, "died after %d writes", point)
		assert.Equal(t, map[string]any{"third": "set"}, w.Object("Widget", appNamespace, "w").Object["spec"], "died after %d writes", point)
	}
}

// A removal that was interrupted is not completed when the bundle is there again: what is gone is made again.
func TestAnInterruptedRemovalIsUpgraded(t *testing.T) {
	w := newWorld(t)
	_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one"), configMap("b", "one")))
	require.NoError(t, err)
	died := w.dies(2) // the record, and one object
	require.Error(t, w.deployer().Uninstall(t.Context(), "app"))
	require.True(t, died())
	w.breaks(nil)
	require.Equal(t, []string{"1 uninstalling"}, w.states(appNamespace, "app"))
	w.Reset()
	_, err = w.deployer().Deploy(t.Context(), raw("app", configMap("a", "two"), configMap("b", "two")))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
	assert.Equal(t, map[string]any{"key": "two"}, w.data("b"))
	assert.False(t, slices.ContainsFunc(w.Writes(), func(r kubetest.Request) bool { return r.Verb == "delete" }))
}

// A release that somebody uninstalled by hand with its history kept is installed again.
func TestAReleaseThatWasUninstalledByHandIsInstalled(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	w.setState("app", 1, release.StatusUninstalled)
	w.Remove("ConfigMap", appNamespace, "a")
	got, err := d.Deploy(t.Context(), raw("app", configMap("a", "two")))
	require.NoError(t, err)
	assert.Equal(t, "apps/app:2", got.ID)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
}

// setState changes the state of a record, as somebody else would.
func (w *world) setState(name string, revision int, status release.Status) {
	w.t.Helper()
	identity, err := w.deployer().self()
	require.NoError(w.t, err)
	records, err := history.Open(w.t.Context(), identity.Kube.CoreV1().Secrets(appNamespace), name, w.deployer().cfg.Now)
	require.NoError(w.t, err)
	found, err := records.Get(history.Key(name, revision))
	require.NoError(w.t, err)
	found.Info.Status = status
	require.NoError(w.t, records.Update(history.Key(name, revision), found))
}

// Two agents work on one release: the one that lost its turn notices at its next record, and does not write over it.
func TestAnAgentThatLostItsTurnDoesNotWriteOverTheOther(t *testing.T) {
	w := newWorld(t)
	_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	taken := false
	w.breaks(func(_ http.ResponseWriter, r *http.Request) bool {
		// While the slow agent changes its object, another one takes over and completes its own upgrade.
		if r.Method == http.MethodPatch && onPath(r, "/configmaps/a") && !taken {
			taken = true
			_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "other")))
			assert.NoError(t, err)
		}
		return false
	})
	_, err = w.deployer().Deploy(t.Context(), raw("app", configMap("a", "slow")))
	require.ErrorIs(t, err, ErrTaken)
	assert.False(t, IsFinal(err))
	require.True(t, taken)
	states := w.states(appNamespace, "app")
	assert.Equal(t, "3 deployed", states[len(states)-1])
	assert.NotContains(t, states, "2 deployed")

	w.breaks(nil)
	_, err = w.deployer().Deploy(t.Context(), raw("app", configMap("a", "last")))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"key": "last"}, w.data("a"))
}

// A first install that fails leaves a failed revision, which the next attempt upgrades; what it left is removed.
func TestAFailedInstallIsUpgraded(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && onPath(r, "/secrets") && !strings.Contains(r.URL.Path, "sh.helm") {
			return false
		}
		if r.Method == http.MethodPost && onPath(r, "/widgets") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
			return true
		}
		return false
	})
	widget := "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec: {size: 1}\n"
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one"), configMap("gone", "one"), widget))
	require.ErrorContains(t, err, "a webhook says no")
	assert.Equal(t, []string{"1 failed"}, w.states(appNamespace, "app"))
	w.breaks(nil)
	_, err = d.Deploy(t.Context(), raw("app", configMap("a", "two"), widget))
	require.NoError(t, err)
	assert.True(t, w.has("Widget", appNamespace, "w"))
	assert.False(t, w.has("ConfigMap", appNamespace, "gone"))
}

// H04: an upgrade that fails is rolled back where the bundle wants that, and never ends in a removal.
func TestAtomicSetsAFailedUpgradeBack(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	widget := func(size string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec: {size: " + size + "}\n"
	}
	atomically := func(manifests ...string) Job {
		job := raw("app", manifests...)
		job.Options.Helm = &fleet.HelmOptions{Atomic: true, TimeoutSeconds: 20}
		return job
	}
	_, err := d.Deploy(t.Context(), atomically(configMap("a", "one"), widget("1")))
	require.NoError(t, err)
	refused := false
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && onPath(r, "/widgets/w") && !refused {
			refused = true
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
			return true
		}
		return false
	})
	w.Reset()
	_, err = d.Deploy(t.Context(), atomically(configMap("a", "two"), configMap("b", "two"), widget("2")))
	require.ErrorContains(t, err, "failed, and has been rolled back due to atomic being set")
	require.ErrorContains(t, err, "a webhook says no")
	assert.True(t, IsFinal(err))
	assert.Equal(t, map[string]any{"key": "one"}, w.data("a"))
	assert.False(t, w.has("ConfigMap", appNamespace, "b"))
	states := w.states(appNamespace, "app")
	assert.Equal(t, "3 deployed", states[len(states)-1])
	assert.LessOrEqual(t, len(states), 2)
}

func TestAtomicRemovesAFailedInstall(t *testing.T) {
	w := newWorld(t)
	job := raw("app", configMap("a", "one"), "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n")
	job.Options.Helm = &fleet.HelmOptions{Atomic: true, TimeoutSeconds: 20}
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && onPath(r, "/widgets") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
			return true
		}
		return false
	})
	_, err := w.deployer().Deploy(t.Context(), job)
	require.ErrorContains(t, err, "has been uninstalled due to atomic being set")
	assert.False(t, w.has("ConfigMap", appNamespace, "a"))
	assert.Empty(t, w.states(appNamespace, "app"))
}

func TestNamespaceLabelsAreTheBundlesButPodSecurityIsNot(t *testing.T) {
	w := newWorld(t)
	w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: appNamespace, Labels: map[string]string{
		"kubernetes.io/metadata.name": appNamespace, "pod-security.kubernetes.io/enforce": "restricted", "old": "x",
	}, Annotations: map[string]string{"old": "x"}}})
	job := raw("app", configMap("a", "one"))
	job.Options.NamespaceLabels = map[string]string{"team": "a", "pod-security.kubernetes.io/enforce": "privileged"}
	job.Options.NamespaceAnnotations = map[string]string{"note": "b"}
	d := w.deployer()
	_, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	namespace := w.Object("Namespace", "", appNamespace)
	assert.Equal(t, map[string]string{
		"kubernetes.io/metadata.name": appNamespace, "pod-security.kubernetes.io/enforce": "restricted", "team": "a",
	}, namespace.GetLabels())
	assert.Equal(t, map[string]string{"note": "b"}, namespace.GetAnnotations())

	job.Options.NamespaceLabels["team"] = "b"
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/namespaces/"+appNamespace) {
			kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "no rights on namespaces")
			return true
		}
		return false
	})
	got, err := d.Deploy(t.Context(), job)
	var forbidden *NamespaceForbidden
	require.ErrorAs(t, err, &forbidden)
	assert.Equal(t, appNamespace, forbidden.Namespace)
	assert.Equal(t, "apps/app:2", got.ID, "the release was deployed all the same")
}
