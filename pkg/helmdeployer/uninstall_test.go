package helmdeployer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true}
`

// H09: the definitions of a bundle stay unless it says otherwise, and everything else goes.
func TestOnlyDefinitionsStayWhenABundleGoes(t *testing.T) {
	for _, deleteCRDs := range []bool{false, true} {
		w := newWorld(t)
		d := w.deployer()
		job := raw("app", definition, widget, configMap("a", "one"))
		job.Options.DeleteCRDResources = deleteCRDs
		_, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
		assert.Equal(t, map[bool]string{false: "keep"}[deleteCRDs],
			w.Object("CustomResourceDefinition", "", "widgets.example.com").GetAnnotations()["helm.sh/resource-policy"])
		assert.Empty(t, w.Object("ConfigMap", appNamespace, "a").GetAnnotations()["helm.sh/resource-policy"])
		require.NoError(t, d.Uninstall(t.Context(), "app"))
		assert.Equal(t, !deleteCRDs, w.has("CustomResourceDefinition", "", "widgets.example.com"))
		assert.False(t, w.has("ConfigMap", appNamespace, "a"))
		assert.False(t, w.has("Widget", appNamespace, "w"))
		assert.Empty(t, w.states(appNamespace, "app"))
		require.NoError(t, d.Uninstall(t.Context(), "app"), "what is gone is no error")
	}
}

func TestKeptResourcesAndTheAgentItselfAreForgotten(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	kept := raw("kept", configMap("kept", "one"))
	kept.Options.KeepResources = true
	agent := raw("fleet-agent-c1", configMap("agent", "one"), deployment("fleet-agent", agentNamespace))
	agent.Agent = true
	for _, job := range []Job{kept, agent} {
		got, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
		require.NoError(t, d.Uninstall(t.Context(), job.Name))
		_, err = d.Load(t.Context(), got.ID, ownerOf("app"))
		require.ErrorIs(t, err, ErrNoRelease, "%s", job.Name)
	}
	assert.True(t, w.has("ConfigMap", appNamespace, "kept"))
	assert.True(t, w.has("ConfigMap", appNamespace, "agent"))
	assert.True(t, w.has("Deployment", agentNamespace, "fleet-agent"))
	assert.Equal(t, "fleet-agent-bootstrap", w.Object("ConfigMap", appNamespace, "agent").GetAnnotations()["objectset.rio.cattle.io/id"])
	// It comes back, and is the same release again.
	_, err := d.Deploy(t.Context(), kept)
	require.NoError(t, err)
}

func deployment(name, namespace string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name + "\n  namespace: " + namespace + "\nspec:\n  replicas: 1\n"
}

// A bundle that is called like those of agents is one as any other; what has the agent itself is kept, whatever it is called.
func TestTheNameOfABundleDoesNotMakeItTheAgents(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	tools := raw("fleet-agent-tools", configMap("tools", "one"), deployment("fleet-agent", "elsewhere"))
	renamed := raw("renamed", deployment("fleet-agent", agentNamespace))
	for _, job := range []Job{tools, renamed} {
		_, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
	}
	assert.Equal(t, "default-fleet-agent-tools", w.Object("ConfigMap", appNamespace, "tools").GetAnnotations()["objectset.rio.cattle.io/id"])
	found, err := w.deployer().List(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.False(t, found[0].Agent)
	assert.True(t, found[1].Agent)

	for _, release := range found {
		require.NoError(t, d.UninstallRelease(t.Context(), release))
	}
	assert.False(t, w.has("ConfigMap", appNamespace, "tools"))
	assert.False(t, w.has("Deployment", "elsewhere", "fleet-agent"))
	assert.True(t, w.has("Deployment", agentNamespace, "fleet-agent"))
	assert.Empty(t, w.states(appNamespace, "renamed"))
}

func TestWhatMentionsTheAgentAndCannotBeReadIsKept(t *testing.T) {
	assert.False(t, holdsAgent(configMap("a", "one"), agentNamespace, agentNamespace))
	assert.False(t, holdsAgent(configMap("fleet-agent", "one"), agentNamespace, agentNamespace))
	assert.True(t, holdsAgent(deployment("fleet-agent", agentNamespace), appNamespace, agentNamespace))
	assert.True(t, holdsAgent("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: fleet-agent}\n", agentNamespace, agentNamespace))
	assert.False(t, holdsAgent("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: fleet-agent}\n", appNamespace, agentNamespace))
	assert.True(t, holdsAgent("fleet-agent: [", appNamespace, agentNamespace))
	among := configMap("a", "fleet-agent") + "---\n" + deployment("fleet-agent", agentNamespace) + "---\n" + configMap("b", "one")
	assert.True(t, holdsAgent(among, appNamespace, agentNamespace))
	listed := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: fleet-agent, namespace: " + agentNamespace + "}}\n"
	assert.True(t, holdsAgent(configMap("a", "one")+"---\n"+listed, appNamespace, agentNamespace))
	assert.False(t, holdsAgent(configMap("fleet-agent", "one")+"---\nbroken: [", appNamespace, agentNamespace), "the agent is not in what is broken")
	assert.True(t, holdsAgent("fleet-agent: ["+strings.Repeat("{},", maxAgentDocument/3)+"]", appNamespace, agentNamespace), "too large to look")
}

func TestTheNamespaceGoesOnlyWhereItIsTheBundlesAlone(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	for _, name := range []string{"one", "two"} {
		job := raw(name, configMap(name, "x"))
		job.Options.DeleteNamespace = true
		_, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
	}
	require.NoError(t, d.Uninstall(t.Context(), "one"))
	assert.True(t, w.has("Namespace", "", appNamespace), "the other bundle is there")
	require.NoError(t, d.Uninstall(t.Context(), "two"))
	assert.False(t, w.has("Namespace", "", appNamespace))

	for _, namespace := range []string{"default", agentNamespace} {
		w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		job := raw("app", configMap("a", "x"))
		job.Options.DefaultNamespace, job.Options.DeleteNamespace = namespace, true
		_, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
		require.NoError(t, d.Uninstall(t.Context(), "app"))
		assert.True(t, w.has("Namespace", "", namespace))
	}
}

// Releases are known by the annotations of their charts: neither a name nor another agent's release counts.
func TestOnlyReleasesOfThisAgentAreListed(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	other, err := New(Config{REST: w.Config(), Namespace: "another-agent"})
	require.NoError(t, err)
	job := raw("app", configMap("other", "one"))
	job.Options.DefaultNamespace = "others"
	_, err = other.Deploy(t.Context(), job)
	require.NoError(t, err)
	w.record("foreign", "by-hand", map[string]string{})

	w.Reset()
	found, err := d.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Deployed{{BundleID: "app", Namespace: appNamespace, Name: "app", Revision: 1}}, found)
	first := len(w.Requests())
	_, err = d.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, len(w.Requests())-first, "records are read once")

	require.NoError(t, d.Uninstall(t.Context(), "app"))
	assert.True(t, w.has("ConfigMap", "others", "other"))
	require.NoError(t, d.Uninstall(t.Context(), "by-hand"))
	assert.Equal(t, []string{"1 deployed"}, w.states("foreign", "by-hand"))
}

// record writes a release as Helm's own storage does.
func (w *world) record(namespace, name string, annotations map[string]string) {
	w.t.Helper()
	identity, err := w.deployer().self()
	require.NoError(w.t, err)
	kept := storage.Init(driver.NewSecrets(identity.Kube.CoreV1().Secrets(namespace)))
	require.NoError(w.t, kept.Create(&release.Release{
		Name: name, Namespace: namespace, Version: 1, Info: &release.Info{Status: release.StatusDeployed},
		Chart:    &helmchart.Chart{Metadata: &helmchart.Metadata{Name: "c", Version: "1.0.0", APIVersion: "v2", Annotations: annotations}},
		Manifest: configMap("x", "one"),
		Hooks: []*release.Hook{{
			Name: "before", Kind: "ConfigMap", Path: "c/templates/before.yaml", Manifest: configMap("made-by-hook", "one"),
			Events: []release.HookEvent{release.HookPreDelete},
		}},
	}))
}

// A record that somebody wrote who may write Secrets has the agent neither remove what is not the release's, nor make
// anything: the agent has more rights than that person.
func TestAForgedRecordRemovesAndMakesNothing(t *testing.T) {
	w := newWorld(t)
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: appNamespace, Name: "x"}})
	notes := map[string]string{"fleet.cattle.io/bundle-id": "forged", "fleet.cattle.io/agent-namespace": agentNamespace}
	w.record(appNamespace, "forged", notes)
	require.ErrorIs(t, w.deployer().Uninstall(t.Context(), "forged"), ErrUnproven)
	assert.True(t, w.has("ConfigMap", appNamespace, "x"), "what it names stays")
	assert.False(t, w.has("ConfigMap", appNamespace, "made-by-hook"))

	// An upgrade of it removes nothing either.
	w.record(appNamespace, "app", notes)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("z", "two")))
	require.NoError(t, err)
	assert.True(t, w.has("ConfigMap", appNamespace, "x"))
}

// Hooks of a release are run that this agent deployed, and of one that the hub's status names.
func TestHooksAreRunOfReleasesThatTheAgentKnows(t *testing.T) {
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bye, annotations: {helm.sh/hook: pre-delete}}\n"
	for name, before := range map[string]func(d *Deployer, id string){
		"deployed": func(*Deployer, string) {},
		"loaded": func(d *Deployer, id string) {
			_, err := d.Load(t.Context(), id, ownerOf("app"))
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.deployer()
			got, err := d.Deploy(t.Context(), chart("app", map[string]string{"templates/a.yaml": configMap("a", "one"), "templates/h.yaml": hook}))
			require.NoError(t, err)
			if name == "loaded" {
				d = w.deployer()
			}
			before(d, got.ID)
			require.NoError(t, d.Uninstall(t.Context(), "app"))
			assert.True(t, w.has("ConfigMap", appNamespace, "bye"))
			assert.False(t, w.has("ConfigMap", appNamespace, "a"))
		})
	}
}

// What another agent recorded, whose manifests leave namespaces out, is read, corrected, upgraded and removed.
func TestReleasesOfOtherAgentsAreTakenOver(t *testing.T) {
	w := newWorld(t)
	w.record(appNamespace, "app", map[string]string{
		"fleet.cattle.io/bundle-id": "app", "fleet.cattle.io/agent-namespace": agentNamespace, "fleet.cattle.io/service-account": "",
	})
	d := w.deployer()
	found, err := d.Load(t.Context(), "apps/app:1", ownerOf("app"))
	require.NoError(t, err)
	require.Len(t, found.Objects, 1)
	assert.Equal(t, appNamespace, found.Objects[0].GetNamespace())
	job := raw("app", configMap("z", "two"))
	job.Release = "apps/app:1"
	got, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, "apps/app:2", got.ID)
	require.NoError(t, d.Uninstall(t.Context(), "app"))
	assert.False(t, w.has("ConfigMap", appNamespace, "z"))
}

// An account that may do all in one namespace, and nothing with namespaces, has no namespace removed by the agent's rights.
func TestANamespaceIsRemovedOnTheAccountsBehalf(t *testing.T) {
	for name, may := range map[string]bool{"that may": true, "that may not": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: appNamespace}})
			d := w.deployer()
			job := w.tenants(configMap("a", "one"))
			job.Options.DeleteNamespace = true
			_, err := d.Deploy(t.Context(), job)
			require.NoError(t, err)
			w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
				if may || r.Method != http.MethodDelete || r.URL.Path != "/api/v1/namespaces/"+appNamespace {
					return false
				}
				kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "the account may not")
				return true
			})
			require.NoError(t, d.Uninstall(t.Context(), "app"), "what is refused is told, and not tried again")
			assert.Equal(t, tenant, w.userOf("DELETE /api/v1/namespaces/apps"))
			assert.Equal(t, !may, w.has("Namespace", "", appNamespace))
			assert.Empty(t, w.states(appNamespace, "app"))
		})
	}
}
