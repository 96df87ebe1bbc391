package helmdeployer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// plainly has a record say all that the hub does, and have other objects and hooks.
func plainly(r *release.Release) { steal(r) }

// unsealed takes the seal off as well, as a record of another agent has none.
func unsealed(r *release.Release) {
	steal(r)
	delete(r.Labels, history.SealLabel)
}

// stolen says whether anything was made by a forged record.
func (w *world) stolen() bool {
	return w.has("ConfigMap", appNamespace, "stolen") || w.has("ConfigMap", appNamespace, "stolen-by-hook")
}

// madeHook says whether the hook "bye" was made.
func (w *world) madeHook() bool {
	return slices.ContainsFunc(w.Writes(), func(r kubetest.Request) bool { return r.Verb == "create" && strings.HasSuffix(r.Path, "/configmaps") })
}

func secretsOf(t *testing.T, d *Deployer) typedcore.SecretsGetter {
	t.Helper()
	self, err := d.self()
	require.NoError(t, err)
	return self.Kube.CoreV1()
}

// A bundle without an account has the agent's own rights. Whoever may write Secrets in its namespace changes its record while
// no agent runs: what that says is not applied by the next one, which puts right what the hub wants instead.
func TestANewAgentAppliesNoForgedRecord(t *testing.T) {
	for name, forged := range map[string]func(*release.Release){"with the seal": plainly, "without a seal": unsealed} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := raw("app", configMap("a", "one"))
			got, err := w.deployer().Deploy(t.Context(), job)
			require.NoError(t, err)
			w.forge("app", 1, forged)

			d := w.deployer()
			_, err = d.Load(t.Context(), got.ID, ownerOf("app"))
			require.NoError(t, err, "it is read, as one of another agent is")
			w.Reset()
			for range 2 {
				_, err = d.Correct(t.Context(), got.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true, Force: true, KeepFailHistory: true})
				require.ErrorIs(t, err, ErrForeign)
			}
			assert.Empty(t, w.Writes())

			job.Release = got.ID
			again, err := d.Deploy(t.Context(), job)
			require.NoError(t, err)
			_, err = w.deployer().Correct(t.Context(), again.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
			require.NoError(t, err, "what the agent wrote bears its seal")
			assert.False(t, w.stolen())
		})
	}
}

// The record of one release or revision does not stand for another, and one without an account for none with one.
func TestASealIsOfOneRevisionInOnePlace(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	found, err := history.Read(t.Context(), secretsOf(t, d), history.ID{Namespace: appNamespace, Name: "app", Revision: 1})
	require.NoError(t, err)
	fresh := w.deployer()
	require.True(t, fresh.isSealed(t.Context(), appNamespace, "app", found))
	assert.False(t, fresh.isSealed(t.Context(), "others", "app", found))
	assert.False(t, fresh.isSealed(t.Context(), appNamespace, "other", found))
	for name, change := range map[string]func(*release.Release){
		"another revision":   func(r *release.Release) { r.Version = 2 },
		"another manifest":   func(r *release.Release) { r.Manifest += "\n" },
		"a hook":             func(r *release.Release) { r.Hooks = append(r.Hooks, &release.Hook{Name: "h"}) },
		"another account":    func(r *release.Release) { r.Chart.Metadata.Annotations[accountAnnotation] = "admin" },
		"no seal":            func(r *release.Release) { r.Labels = nil },
		"somebody else's":    func(r *release.Release) { r.Labels[history.SealLabel] = "0123456789abcdef0123456789abcdef" },
		"a part of the seal": func(r *release.Release) { r.Labels[history.SealLabel] = r.Labels[history.SealLabel][:8] },
	} {
		changed, err := history.Read(t.Context(), secretsOf(t, d), history.ID{Namespace: appNamespace, Name: "app", Revision: 1})
		require.NoError(t, err)
		change(changed)
		assert.False(t, fresh.isSealed(t.Context(), appNamespace, "app", changed), name)
	}
	other := w.agent(func(context.Context) ([]byte, error) { return []byte("another key"), nil })
	assert.False(t, other.isSealed(t.Context(), appNamespace, "app", found))
	none := w.agent(func(context.Context) ([]byte, error) { return nil, errors.New("no answer") })
	assert.False(t, none.isSealed(t.Context(), appNamespace, "app", found))
}

// Each revision has a seal of its own: of an upgrade, of a rollback, of a correction that failed. Helm passes labels on.
func TestEachRevisionBearsItsOwnSeal(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	job := raw("app", configMap("a", "one"), widget)
	job.Options.Helm = &fleet.HelmOptions{Atomic: true, TimeoutSeconds: 20, MaxHistory: 10}
	_, err := d.Deploy(t.Context(), job)
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
	job.Files[0] = file("manifest-0.yaml", configMap("a", "two"))
	job.Files[1] = file("manifest-1.yaml", widget+"extra: 1\n")
	_, err = d.Deploy(t.Context(), job)
	require.ErrorContains(t, err, "has been rolled back")
	fresh := w.deployer()
	require.Len(t, w.states(appNamespace, "app"), 3)
	for revision := 1; revision <= 3; revision++ {
		found, err := history.Read(t.Context(), secretsOf(t, d), history.ID{Namespace: appNamespace, Name: "app", Revision: revision})
		require.NoError(t, err)
		assert.True(t, fresh.isSealed(t.Context(), appNamespace, "app", found), "revision %d", revision)
	}
}

// A failed upgrade of a bundle without an account is rolled back to what an agent before recorded, not to what somebody else
// made of that.
func TestANewAgentRollsBackToNoForgedRecord(t *testing.T) {
	for name, forged := range map[string]func(*release.Release){"genuine": nil, "with the seal": plainly, "without a seal": unsealed} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := raw("app", configMap("a", "one"), widget)
			job.Options.Helm = &fleet.HelmOptions{Atomic: true, TimeoutSeconds: 20}
			_, err := w.deployer().Deploy(t.Context(), job)
			require.NoError(t, err)
			if forged != nil {
				w.forge("app", 1, forged)
			}
			refused := false
			w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
				if isWrite(r) && onPath(r, "/widgets") && !refused {
					refused = true
					kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a webhook says no")
					return true
				}
				return false
			})
			job.Files[0] = file("manifest-0.yaml", configMap("a", "two"))
			job.Files[1] = file("manifest-1.yaml", widget+"extra: 1\n")
			_, err = w.deployer().Deploy(t.Context(), job)
			require.ErrorContains(t, err, "a webhook says no")
			assert.False(t, w.stolen())
			if forged == nil {
				require.ErrorContains(t, err, "has been rolled back")
				assert.Equal(t, map[string]any{"key": "one"}, w.data("a"))
			} else {
				require.ErrorIs(t, err, ErrForeign)
			}
		})
	}
}

// A record that calls itself the bundle's, under another name, is neither taken over from, nor applied, nor removed.
func TestAForgedReleaseOfABundleIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.record("tenant", "forged", map[string]string{bundleIDAnnotation: "app", agentNamespaceAnnotation: agentNamespace, accountAnnotation: ""})
	w.refuses()
	d := w.deployer()
	_, err := d.Deploy(t.Context(), named("app", configMap("a", "one"), widget))
	require.ErrorContains(t, err, "has been uninstalled due to atomic being set")
	assert.False(t, w.has("ConfigMap", "tenant", "x"), "what it says was not applied")
	w.breaks(nil)
	_, err = d.Deploy(t.Context(), named("app", configMap("a", "one")))
	require.NoError(t, err)
	assert.Equal(t, []string{"1 deployed"}, w.states("tenant", "forged"))

	// When the bundle goes, what is its own goes, and the other stays.
	require.ErrorIs(t, d.Uninstall(t.Context(), "app"), ErrUnproven)
	assert.Empty(t, w.states(appNamespace, "app"))
	assert.Equal(t, []string{"1 deployed"}, w.states("tenant", "forged"))
}

// A record of a person's release, or of another bundle's, is changed so that it calls itself a bundle which the hub does not
// have. What bears the marks of that release is not removed for it.
func TestAReleaseThatIsRenamedByItsRecordIsNotRemoved(t *testing.T) {
	w := newWorld(t)
	_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	w.forge("app", 1, func(r *release.Release) { r.Chart.Metadata.Annotations[bundleIDAnnotation] = "ghost" })
	d := w.deployer()
	require.ErrorIs(t, d.Uninstall(t.Context(), "ghost"), ErrUnproven)
	assert.True(t, w.has("ConfigMap", appNamespace, "a"))
	require.NoError(t, d.Uninstall(t.Context(), "app"), "it has no release by now")
	assert.True(t, w.has("ConfigMap", appNamespace, "a"))
}

// What goes while no agent runs is known by the next one: hooks are run, and the namespace goes. So it is with a bundle that is
// paused, whose release nobody reads.
func TestANewAgentKnowsWhatAnAgentBeforeDeployed(t *testing.T) {
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bye, annotations: {helm.sh/hook: pre-delete}}\n"
	for name, forged := range map[string]func(*release.Release){"genuine": nil, "with the seal": plainly, "without a seal": unsealed} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := chart("app", map[string]string{"templates/a.yaml": configMap("a", "one"), "templates/h.yaml": hook})
			job.Options.DeleteNamespace = true
			_, err := w.deployer().Deploy(t.Context(), job)
			require.NoError(t, err)
			if forged != nil {
				w.forge("app", 1, forged)
			}
			w.Reset()
			err = w.deployer().Uninstall(t.Context(), "app")
			assert.False(t, w.stolen())
			if forged == nil {
				require.NoError(t, err)
				assert.True(t, w.madeHook(), "its hook was run")
				assert.False(t, w.has("Namespace", "", appNamespace))
				return
			}
			require.ErrorIs(t, err, ErrUnproven)
			assert.True(t, w.has("ConfigMap", appNamespace, "a"))
			assert.True(t, w.has("Namespace", "", appNamespace))
		})
	}
}

// A revision that cannot be sealed does not bear the seal of the one before.
func TestAnAgentWithoutAKeySealsNothing(t *testing.T) {
	w := newWorld(t)
	_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	_, err = w.agent(func(context.Context) ([]byte, error) { return nil, nil }).Deploy(t.Context(), raw("app", configMap("a", "two")))
	require.NoError(t, err)
	assert.NotEmpty(t, w.Object("Secret", appNamespace, history.Key("app", 1)).GetLabels()[history.SealLabel])
	assert.NotContains(t, w.Object("Secret", appNamespace, history.Key("app", 2)).GetLabels(), history.SealLabel)
}

// An agent that has no key yet, or another one by now, goes on with what the hub names, by deploying it, and removes it with
// its bundle. Of hooks and namespaces it knows nothing.
func TestAnAgentWithAnotherKeyGoesOnWithWhatTheHubNames(t *testing.T) {
	for name, key := range map[string]func(context.Context) ([]byte, error){
		"another key": func(context.Context) ([]byte, error) { return []byte("another"), nil },
		"no key":      func(context.Context) ([]byte, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			got, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one")))
			require.NoError(t, err)
			d := w.agent(key)
			_, err = d.Load(t.Context(), got.ID, ownerOf("app"))
			require.NoError(t, err)
			_, err = d.Correct(t.Context(), got.ID, ownerOf("app"), fleet.CorrectDrift{Enabled: true})
			require.ErrorIs(t, err, ErrForeign)
			job := raw("app", configMap("a", "two"))
			job.Options.Helm = &fleet.HelmOptions{ReleaseName: "renamed"}
			job.Release = got.ID
			_, err = d.Deploy(t.Context(), job)
			require.NoError(t, err)
			assert.Empty(t, w.states(appNamespace, "app"), "the status names it: it is taken over")
			assert.Equal(t, name == "no key", w.Object("Secret", appNamespace, history.Key("renamed", 1)).GetLabels()[history.SealLabel] == "")
			require.NoError(t, d.Uninstall(t.Context(), "app"))
			assert.False(t, w.has("ConfigMap", appNamespace, "a"))
		})
	}
}
