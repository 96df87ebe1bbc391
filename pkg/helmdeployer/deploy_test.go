package helmdeployer

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
)

func TestManifestsAreInstalledAndUpgraded(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	first, err := d.Deploy(t.Context(), raw("team/app", configMap("a", "one"), configMap("b", "one")))
	require.NoError(t, err)
	assert.Equal(t, "apps/team-app:1", first.ID)
	assert.Equal(t, appNamespace, first.Namespace)
	require.Len(t, first.Objects, 2)
	assert.Equal(t, appNamespace, first.Objects[0].GetNamespace())
	assert.True(t, w.has("Namespace", "", appNamespace), "the namespace is made")

	live := w.Object("ConfigMap", appNamespace, "a")
	require.NotNil(t, live)
	assert.Equal(t, names.ObjectSetHash("default-team/app", "", "", ""), live.GetLabels()["objectset.rio.cattle.io/hash"])
	assert.Equal(t, "default-team/app", live.GetAnnotations()["objectset.rio.cattle.io/id"])
	assert.Equal(t, "team-app", live.GetAnnotations()["meta.helm.sh/release-name"])

	job := raw("team/app", configMap("a", "two"), configMap("c", "two"))
	job.Release = first.ID
	second, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, "apps/team-app:2", second.ID)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
	assert.False(t, w.has("ConfigMap", appNamespace, "b"), "what the bundle no longer has goes")
	assert.True(t, w.has("ConfigMap", appNamespace, "c"))
	assert.Equal(t, []string{"1 superseded", "2 deployed"}, w.states(appNamespace, "team-app"))

	loaded, err := d.Load(t.Context(), second.ID, ownerOf("team/app"))
	require.NoError(t, err)
	assert.Equal(t, second, loaded)
	fresh, err := w.deployer().Load(t.Context(), second.ID, ownerOf("team/app"))
	require.NoError(t, err)
	assert.Equal(t, second, fresh, "another agent reads the same")
	_, err = d.Load(t.Context(), "apps/team-app:7", ownerOf("team/app"))
	require.ErrorIs(t, err, ErrNoRelease)
}

// A person takes the record away, and the release begins anew with a number that it had before: what is loaded then is what
// was deployed then.
func TestAReleaseThatBeginsAnewIsNotTakenForTheOldOne(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	first, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	recorded, err := d.Recorded(t.Context(), first.ID)
	require.NoError(t, err)
	assert.True(t, recorded)
	w.Remove("Secret", appNamespace, history.Key("app", 1))
	recorded, err = d.Recorded(t.Context(), first.ID)
	require.NoError(t, err)
	assert.False(t, recorded)

	second, err := d.Deploy(t.Context(), raw("app", configMap("a", "two")))
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
	loaded, err := d.Load(t.Context(), second.ID, ownerOf("app"))
	require.NoError(t, err)
	assert.Equal(t, second, loaded)
}

func TestHistoryIsBounded(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	for range 5 {
		_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"4 superseded", "5 deployed"}, w.states(appNamespace, "app"))
	job := raw("app", configMap("a", "one"))
	job.Options.Helm = &fleet.HelmOptions{MaxHistory: 1}
	_, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	// Helm never drops the revision that is deployed when it makes room for the next.
	assert.Equal(t, []string{"5 superseded", "6 deployed"}, w.states(appNamespace, "app"))
}

func TestNothingIsChangedBeforeTheBundleIsAccepted(t *testing.T) {
	scoped := raw("app", configMap("a", "one"), "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n")
	scoped.Options = fleet.BundleDeploymentOptions{TargetNamespace: appNamespace}
	for name, test := range map[string]struct {
		job  Job
		want string
	}{
		"a cluster-scoped object in a bundle with a target namespace": {scoped, `invalid cluster scoped object [Namespace "other"] found.`},
		"a template that fails": {
			chart("app", map[string]string{"templates/a.yaml": `{{ required "give a name" .Values.name }}`}), "give a name",
		},
		"a kind that nobody serves": {raw("app", configMap("a", "one"), "apiVersion: no.example/v1\nkind: Nothing\nmetadata:\n  name: x\n"), "is not served by the cluster"},
		"no files":                  {Job{Name: "app", Options: fleet.BundleDeploymentOptions{DefaultNamespace: appNamespace}}, "has no files"},
		"broken YAML":               {raw("app", "a: b: c"), "manifest-0.yaml: document 1: YAML parse error"},
		"one object in two forms":   {raw("app", configMap("a", "one"), configMap("a", "two")), `ConfigMap "apps/a" is in the bundle twice`},
		"a missing account": {func() Job {
			job := raw("app", configMap("a", "one"))
			job.Options.ServiceAccount = "missing"
			return job
		}(), "looking up service account cattle-fleet-system/missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.deployer().Deploy(t.Context(), test.job)
			require.ErrorContains(t, err, test.want)
			assert.Empty(t, w.Writes())
		})
	}
}

// B18: a render without objects removes nothing.
func TestAnEmptyRenderRemovesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	job := chart("app", map[string]string{"templates/a.yaml": "{{ if .Values.on }}\n" + configMap("a", "one") + "{{ end }}"})
	job.Options.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"on": true}}}
	_, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	job.Options.Helm = nil
	_, err = d.Deploy(t.Context(), job)
	var empty *EmptyError
	require.ErrorAs(t, err, &empty)
	assert.True(t, w.has("ConfigMap", appNamespace, "a"))
	assert.Equal(t, []string{"1 deployed"}, w.states(appNamespace, "app"))
}

// H07: releases of one name in two namespaces are two releases.
func TestOneReleaseNameInTwoNamespaces(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	for _, bundle := range []string{"one", "two"} {
		job := raw(bundle, configMap("a", bundle))
		job.Options = fleet.BundleDeploymentOptions{DefaultNamespace: "ns-" + bundle, Helm: &fleet.HelmOptions{ReleaseName: "same"}}
		_, err := d.Deploy(t.Context(), job)
		require.NoError(t, err)
	}
	require.NoError(t, d.Uninstall(t.Context(), "one"))
	assert.False(t, w.has("ConfigMap", "ns-one", "a"))
	assert.True(t, w.has("ConfigMap", "ns-two", "a"))
}

func TestARenamedReleaseGoesOnceTheNewOneIsThere(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one"), configMap("old", "one")))
	require.NoError(t, err)

	renamed := raw("app", configMap("a", "two"))
	renamed.Options.Helm = &fleet.HelmOptions{ReleaseName: "new"}
	renamed.Release = "apps/app:1"
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && onPath(r, "/configmaps") {
			kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "not now")
			return true
		}
		return false
	})
	_, err = d.Deploy(t.Context(), renamed)
	require.ErrorContains(t, err, "not now")
	assert.True(t, w.has("ConfigMap", appNamespace, "old"), "the old release stays until the new one is deployed")

	w.breaks(nil)
	got, err := d.Deploy(t.Context(), renamed)
	require.NoError(t, err)
	assert.Equal(t, "apps/new:2", got.ID)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"), "what both have is the new one's")
	assert.False(t, w.has("ConfigMap", appNamespace, "old"))
	assert.Empty(t, w.states(appNamespace, "app"))
	all, err := d.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, Deployed{BundleID: "app", Namespace: appNamespace, Name: "new", Revision: 2}, all[0])
}

func TestWhatAnotherReleaseHasIsNotTakenOver(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("first", configMap("a", "one")))
	require.NoError(t, err)
	job := raw("second", configMap("a", "two"))
	_, err = d.Deploy(t.Context(), job)
	require.ErrorContains(t, err, "exists and cannot be imported into the current release")
	assert.True(t, IsFinal(err))
	assert.Equal(t, map[string]any{"key": "one"}, w.data("a"))

	job.Options.Helm = &fleet.HelmOptions{TakeOwnership: true}
	_, err = d.Deploy(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"key": "two"}, w.data("a"))
	require.NoError(t, d.Uninstall(t.Context(), "first"))
	assert.True(t, w.has("ConfigMap", appNamespace, "a"), "it is the second bundle's now")
}

func TestEverythingIsDoneOnTheAccountsBehalf(t *testing.T) {
	w := newWorld(t)
	w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "tenant"}})
	w.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "values"},
		Data:       map[string][]byte{"values.yaml": []byte("value: from-secret")},
	})
	job := chart("app", map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: {{ .Values.value }}\n" +
			"  seen: {{ (lookup \"v1\" \"ConfigMap\" \"secret-place\" \"x\") | toJson | quote }}\n",
	})
	job.Options.ServiceAccount = "tenant"
	job.Options.NamespaceLabels = map[string]string{"team": "a"}
	job.Options.Helm = &fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{{SecretKeyRef: &fleet.SecretKeySelector{
		LocalObjectReference: fleet.LocalObjectReference{Name: "values"}, Namespace: "elsewhere",
	}}}}
	_, err := w.deployer().Deploy(t.Context(), job)
	require.NoError(t, err)
	assert.Equal(t, "from-secret", w.data("a")["key"])
	const tenant = "system:serviceaccount:cattle-fleet-system:tenant"
	for _, request := range []string{
		"GET /api/v1/namespaces/elsewhere/secrets/values",
		"GET /api/v1/namespaces/secret-place/configmaps/x",
		"POST /api/v1/namespaces",
		"POST /api/v1/namespaces/apps/configmaps",
		"POST /api/v1/namespaces/apps/secrets",
		"PUT /api/v1/namespaces/apps",
	} {
		assert.Equal(t, tenant, w.userOf(request), request)
	}
	for _, request := range w.Writes() {
		verb := map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}[request.Verb]
		assert.Equal(t, tenant, w.userOf(verb+" "+request.Path), "%s %s", request.Verb, request.Path)
	}
	require.NoError(t, w.deployer().Uninstall(t.Context(), "app"))
	assert.Equal(t, tenant, w.userOf("DELETE /api/v1/namespaces/apps/configmaps/a"))
}

func TestTheDefaultAccountIsUsedWhereItExists(t *testing.T) {
	w := newWorld(t)
	w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "fleet-default"}})
	d := w.deployer()
	_, err := d.Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
	assert.Equal(t, "system:serviceaccount:cattle-fleet-system:fleet-default", w.userOf("POST /api/v1/namespaces/apps/configmaps"))
	own := raw("fleet-agent-c1", configMap("agent", "one"))
	own.Options.DefaultNamespace, own.Agent = "agents", true
	_, err = d.Deploy(t.Context(), own)
	require.NoError(t, err)
	assert.Empty(t, w.userOf("POST /api/v1/namespaces/agents/configmaps"), "the agent deploys itself on nobody's behalf")
}

func TestNoBundleStepsOverTheDefaultAccountByFleetsOwn(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"fleet-agent", "fleet-controller", "fleet-controller-bootstrap", "tenant"} {
		w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: name}})
	}
	d := w.deployer()
	deploy := func(bundle, account string) error {
		job := raw(bundle, configMap(bundle, "one"))
		job.Options.ServiceAccount = account
		_, err := d.Deploy(t.Context(), job)
		return err
	}
	require.NoError(t, deploy("before", "fleet-agent"), "without a limit it is what a bundle gets that names none")

	w.put(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "fleet-default"}})
	for _, account := range []string{"fleet-agent", "fleet-controller", "fleet-controller-bootstrap"} {
		require.ErrorContains(t, deploy("over", account), "service account cattle-fleet-system/"+account+" is Fleet's own", account)
	}
	assert.False(t, w.has("ConfigMap", appNamespace, "over"))
	require.NoError(t, deploy("within", "tenant"))
	assert.Equal(t, "system:serviceaccount:cattle-fleet-system:tenant", w.userOf("POST /api/v1/namespaces/apps/configmaps"))

	require.NoError(t, d.Uninstall(t.Context(), "before"), "what was deployed before can go")
}
