package helmdeployer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const tenant = "system:serviceaccount:" + agentNamespace + ":tenant"

// forge changes the record of a revision as somebody does who may write Secrets.
func (w *world) forge(name string, revision int, edit func(*release.Release)) {
	w.t.Helper()
	other := w.deployer()
	self, err := other.self()
	require.NoError(w.t, err)
	records, err := history.Open(w.t.Context(), self.Kube.CoreV1().Secrets(appNamespace), name, other.cfg.Now)
	require.NoError(w.t, err)
	found, err := records.Get(history.Key(name, revision))
	require.NoError(w.t, err)
	edit(found)
	require.NoError(w.t, records.Update(history.Key(name, revision), found))
}

// asAgent has a record say that it is of the agent's own bundle, and has other objects and hooks.
func asAgent(r *release.Release) {
	steal(r)
	delete(r.Chart.Metadata.Annotations, accountAnnotation)
	r.Chart.Metadata.Annotations[bundleIDAnnotation] = "fleet-agent-c1"
}

func steal(r *release.Release) {
	r.Manifest = configMap("stolen", "one")
	r.Hooks = []*release.Hook{{
		Name: "h", Kind: "ConfigMap", Path: "c/templates/h.yaml", Manifest: configMap("stolen-by-hook", "one"),
		Events: []release.HookEvent{release.HookPreDelete, release.HookPreRollback},
	}}
}

// tenants is a bundle with an account.
func (w *world) tenants(manifests ...string) Job {
	w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "tenant"}})
	job := raw("app", manifests...)
	job.Options.ServiceAccount = "tenant"
	return job
}

func ownerOfJob(job Job) Owner { return OwnerOf(job.Name, job.Options, job.Agent) }

// Whoever may write Secrets in the release's namespace can write its record. It does not have the agent act on behalf of
// anybody but the bundle's account, whether the agent deployed it itself or begins anew.
func TestAForgedRecordIsNotAppliedOnBehalfOfOthers(t *testing.T) {
	for name, known := range map[string]bool{"deployed by this agent": true, "of an agent before": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.deployer()
			job := w.tenants(configMap("a", "one"))
			got, err := d.Deploy(t.Context(), job)
			require.NoError(t, err)
			w.forge("app", 1, asAgent)
			if !known {
				d = w.deployer()
				_, err := d.Load(t.Context(), got.ID, ownerOfJob(job))
				require.NoError(t, err)
			}
			w.Reset()
			_, err = d.Correct(t.Context(), got.ID, ownerOfJob(job), fleet.CorrectDrift{Enabled: true, KeepFailHistory: true})
			require.ErrorIs(t, err, ErrForeign)
			assert.Empty(t, w.Writes())

			// The bundle itself puts it right.
			job.Release = got.ID
			again, err := d.Deploy(t.Context(), job)
			require.NoError(t, err)
			_, err = d.Correct(t.Context(), again.ID, ownerOfJob(job), fleet.CorrectDrift{Enabled: true})
			require.NoError(t, err)
			assert.True(t, w.has("ConfigMap", appNamespace, "a"))
			assert.False(t, w.has("ConfigMap", appNamespace, "stolen"))
		})
	}
}

// A record of an agent before is applied on behalf of the bundle's account, and of nobody else.
func TestACorrectionActsForTheAccountThatTheHubNames(t *testing.T) {
	w := newWorld(t)
	job := w.tenants(configMap("a", "one"))
	got, err := w.deployer().Deploy(t.Context(), job)
	require.NoError(t, err)
	w.Remove("ConfigMap", appNamespace, "a")
	_, err = w.deployer().Correct(t.Context(), got.ID, ownerOfJob(job), fleet.CorrectDrift{Enabled: true})
	require.NoError(t, err)
	assert.True(t, w.has("ConfigMap", appNamespace, "a"))
	assert.Equal(t, tenant, w.userOf("POST /api/v1/namespaces/apps/configmaps"))
	assert.Equal(t, tenant, w.userOf("GET /api/v1/namespaces/apps/secrets"))

	other := ownerOfJob(job)
	other.Namespace = "others"
	_, err = w.deployer().Correct(t.Context(), got.ID, other, fleet.CorrectDrift{Enabled: true})
	require.ErrorIs(t, err, ErrForeign)
}

// A record that is made to be large is not looked at: what it holds takes many times its size in memory.
func TestALargeRecordOfSomebodyElseIsNotLookedAt(t *testing.T) {
	w := newWorld(t)
	job := raw("app", configMap("a", "one"))
	got, err := w.deployer().Deploy(t.Context(), job)
	require.NoError(t, err)
	w.forge("app", 1, func(r *release.Release) { r.Manifest += strings.Repeat("#\n", maxUnsealed/2) })
	d := w.deployer()
	_, err = d.Load(t.Context(), got.ID, ownerOf("app"))
	require.ErrorIs(t, err, ErrNoRelease)
	_, err = d.Deploy(t.Context(), job)
	require.ErrorContains(t, err, "remove secret sh.helm.release.v1.app.v1")
	w.Remove("Secret", appNamespace, history.Key("app", 1))
	_, err = d.Deploy(t.Context(), job)
	require.NoError(t, err)
}

// What the agent knows of a record holds, also where nobody's account is in between.
func TestAChangedRecordIsNeitherAppliedNorBelieved(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	got, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	w.forge("app", 1, steal)
	d.loaded.drop(func(string) bool { return true })
	_, err = d.Load(t.Context(), got.ID, ownerOf("app"))
	require.ErrorIs(t, err, ErrNoRelease)
	_, err = d.Correct(t.Context(), got.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
	require.ErrorIs(t, err, ErrForeign)
	assert.False(t, w.has("ConfigMap", appNamespace, "stolen"))
}

// A failed upgrade is rolled back to what the agent knows, or to what the same account recorded.
func TestAForgedRecordIsNotRolledBackTo(t *testing.T) {
	w := newWorld(t)
	_, err := w.deployer().Deploy(t.Context(), w.tenants(configMap("a", "one"), widget))
	require.NoError(t, err)
	w.forge("app", 1, steal)
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && onPath(r, "/widgets") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
			return true
		}
		return false
	})
	// The bundle names no account any more: what the account recorded would be applied by the agent itself.
	job := raw("app", configMap("a", "two"), widget+"extra: 1\n")
	job.Options.Helm = &fleet.HelmOptions{Atomic: true, TimeoutSeconds: 20}
	_, err = w.deployer().Deploy(t.Context(), job)
	require.ErrorIs(t, err, ErrForeign)
	require.ErrorContains(t, err, "a webhook says no")
	assert.False(t, w.has("ConfigMap", appNamespace, "stolen"))
	assert.False(t, w.has("ConfigMap", appNamespace, "stolen-by-hook"))
}

// Hooks are run, and a namespace is removed, by a record only that the agent knows, on behalf of whom it knows.
func TestAChangedRecordHasNoHooksRunAndNoNamespaceRemoved(t *testing.T) {
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bye, annotations: {helm.sh/hook: pre-delete}}\n"
	for name, forged := range map[string]func(*release.Release){"unchanged": nil, "changed": steal, "of another account": asAgent} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.deployer()
			w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "tenant"}})
			job := chart("app", map[string]string{"templates/a.yaml": configMap("a", "one"), "templates/h.yaml": hook})
			job.Options.ServiceAccount, job.Options.DeleteNamespace = "tenant", true
			_, err := d.Deploy(t.Context(), job)
			require.NoError(t, err)
			if forged != nil {
				w.forge("app", 1, func(r *release.Release) {
					forged(r)
					r.Chart.Metadata.Annotations[bundleIDAnnotation] = "app"
				})
			}
			w.Reset()
			require.NoError(t, d.Uninstall(t.Context(), "app"))
			assert.Empty(t, w.states(appNamespace, "app"))
			assert.False(t, w.has("ConfigMap", appNamespace, "stolen-by-hook"))
			assert.Equal(t, forged != nil, w.has("Namespace", "", appNamespace))
			if forged == nil {
				assert.Equal(t, tenant, w.userOf("POST /api/v1/namespaces/apps/configmaps"), "the hook is the account's")
				assert.Equal(t, tenant, w.userOf("DELETE /api/v1/namespaces/apps"), "and so is the namespace")
			}
		})
	}
}

// Only its record says so: the namespace stays, and so does the release.
func TestAForgedRecordRemovesNoNamespace(t *testing.T) {
	w := newWorld(t)
	w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: appNamespace}})
	w.record(appNamespace, "forged", map[string]string{
		bundleIDAnnotation: "forged", agentNamespaceAnnotation: agentNamespace, deleteNamespaceAnnotation: "true",
	})
	require.ErrorIs(t, w.deployer().Uninstall(t.Context(), "forged"), ErrUnproven)
	assert.Equal(t, []string{"1 deployed"}, w.states(appNamespace, "forged"))
	assert.True(t, w.has("Namespace", "", appNamespace))
}

// A record elsewhere that calls itself the same bundle decides nothing about the bundle's release: whether that is kept, or
// removed. An agent that has just started tells them apart by the seal.
func TestAForgedRecordElsewhereDecidesNothing(t *testing.T) {
	for name, fresh := range map[string]bool{"the agent that deployed it": false, "the next one": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.deployer()
			_, err := d.Deploy(t.Context(), raw("victim", configMap("a", "one")))
			require.NoError(t, err)
			w.record("attackers", "x", map[string]string{
				bundleIDAnnotation: "victim", agentNamespaceAnnotation: agentNamespace, keepResourcesAnnotation: "true",
			})
			if fresh {
				d = w.deployer()
			}
			found, err := d.List(t.Context())
			require.NoError(t, err)
			require.Len(t, found, 2)
			for _, release := range found {
				proven, err := d.Proven(t.Context(), release)
				require.NoError(t, err)
				assert.Equal(t, release.Namespace == appNamespace, proven, release.Namespace)
			}
			require.NoError(t, d.Uninstall(t.Context(), "victim"))
			assert.False(t, w.has("ConfigMap", appNamespace, "a"))
			assert.Empty(t, w.states(appNamespace, "victim"))
		})
	}
}
