package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

func TestABundleIsDeployedAndReportedInOneWrite(t *testing.T) {
	w := start(t)
	w.put("app", func(bd *fleet.BundleDeployment) {
		bd.Labels[fleet.CommitLabel] = "abc"
		bd.Spec.Options.ForceSyncGeneration = 3
	})
	w.isDeployed("app")
	jobs := w.deployer.jobsOf("app")
	require.Len(t, jobs, 1)
	assert.Equal(t, w.manifest.ID(), jobs[0].ManifestID)
	assert.Equal(t, "abc", jobs[0].Commit)
	require.Len(t, jobs[0].Files, 1)
	assert.Equal(t, "0.yaml", jobs[0].Files[0].Name)

	status := w.get("app").Status
	assert.Equal(t, "default/app:1", status.Release)
	assert.True(t, status.NonModified)
	assert.EqualValues(t, 3, *status.SyncGeneration)
	for _, kind := range []string{"Installed", "Deployed", "Monitored", "Ready"} {
		assert.Equal(t, "True ", conditionOf(status, kind), kind)
	}
	assert.Equal(t, fleet.BundleDeploymentDisplay{Deployed: "True", Monitored: "True", State: "Ready"}, status.Display)
	require.Len(t, w.patches(), 1)
	assert.Equal(t, "status", w.patches()[0].Subresource)
	assert.Equal(t, "application/merge-patch+json", w.patches()[0].ContentType)
}

// C07, C09: what is as it was is not written again, by the next session and the next process neither.
func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	w := newWorld(t)
	w.run()
	end := w.attach(token)
	for i := range 5 {
		w.put(fmt.Sprintf("app-%d", i))
	}
	for i := range 5 {
		w.isDeployed(fmt.Sprintf("app-%d", i))
	}
	writes, looks := len(w.patches()), w.monitor.looked("app-0")
	end()
	w.attach(token)
	w.eventually("all are compared", func() bool { return w.monitor.looked("app-0") > looks })
	w.edit("app-1", func(bd *fleet.BundleDeployment) { bd.Labels["new"] = "label" })
	w.never("written", func() bool { return len(w.patches()) > writes })
	assert.Len(t, w.deployer.jobsOf("app-0"), 1)
}

func TestWhatIsHeldBackIsLeftAlone(t *testing.T) {
	now := metav1.Now()
	for name, change := range map[string]func(*fleet.BundleDeployment){
		"paused":       func(bd *fleet.BundleDeployment) { bd.Spec.Paused = true },
		"off-schedule": func(bd *fleet.BundleDeployment) { bd.Spec.OffSchedule = true },
		"no-values":    func(bd *fleet.BundleDeployment) { bd.Spec.WaitingForValues = true },
		"deleting":     func(bd *fleet.BundleDeployment) { bd.DeletionTimestamp, bd.Finalizers = &now, []string{"x/y"} },
		"staged":       func(bd *fleet.BundleDeployment) { bd.Spec.DeploymentID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.put("app", change)
			w.eventually("its objects are not watched", func() bool { return w.monitor.isForgotten("app") })
			w.never("touched", func() bool { return len(w.deployer.jobsOf("app"))+len(w.patches()) > 0 })
		})
	}
}

// B07, B10: values of another version are waited for, and nothing is said of a moment's wait.
func TestValuesThatAreNotThereYetAreWaitedFor(t *testing.T) {
	w := start(t, func(c *Config) { c.Pace.RetryFirst, c.Pace.RetryMax = 40*time.Millisecond, 40*time.Millisecond })
	hash := w.putValues("other", `{"a":1}`)
	w.putValues("app", `{"a":0}`)
	w.put("app", func(bd *fleet.BundleDeployment) { bd.Spec.ValuesHash = hash })
	w.put("lost", func(bd *fleet.BundleDeployment) { bd.Spec.ValuesHash = hash })
	w.eventually("they are looked for", func() bool { return w.reads("/secrets") >= 4 })
	assert.Empty(t, w.patches(), "a moment's wait is not told")
	w.putValues("app", `{"a":1}`)
	w.isDeployed("app")
	require.Len(t, w.deployer.jobsOf("app"), 1)
	assert.Equal(t, map[string]any{"a": int64(1)}, w.deployer.jobsOf("app")[0].Options.Helm.Values.Data)
	w.becomes("lost", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("lost").Status, "Deployed"), "Secret "+clusterNamespace+"/lost")
	assert.Empty(t, w.deployer.jobsOf("lost"))
}

// B18: a content that is missing, empty, damaged or another one changes nothing on the cluster.
func TestAContentThatCannotBeHadChangesNothing(t *testing.T) {
	good := func(w *world) *fleet.Content {
		object, err := w.manifest.Content()
		require.NoError(w.t, err)
		return object
	}
	for name, spoil := range map[string]func(w *world){
		"missing": func(w *world) { w.hub.Remove(contentKind, "", w.manifest.ID()) },
		"empty": func(w *world) {
			w.hub.Put(contentKind, &fleet.Content{ObjectMeta: metav1.ObjectMeta{Name: w.manifest.ID()}})
		},
		"damaged": func(w *world) { c := good(w); c.Content = c.Content[:10]; w.hub.Put(contentKind, c) },
		"other": func(w *world) {
			m, err := content.New([]fleet.BundleResource{{Name: "a", Content: "b"}})
			require.NoError(t, err)
			c, err := m.Content()
			require.NoError(t, err)
			c.Name = w.manifest.ID()
			w.hub.Put(contentKind, c)
		},
		"forbidden": func(w *world) { w.refuse("get", contentKind, http.StatusForbidden) },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.put("app")
			w.isDeployed("app")
			spoil(w)
			w.edit("app", another)
			w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "True " })
			status := w.get("app").Status
			assert.Equal(t, "default/app:1", status.Release)
			assert.Contains(t, conditionOf(status, "Deployed"), "content")
			assert.Len(t, w.deployer.jobsOf("app"), 1)
			w.refuse("get", contentKind, 0)
			w.hub.Put(contentKind, good(w))
			w.isDeployed("app")
			uninstalled, forgotten := w.deployer.gone()
			assert.Empty(t, append(uninstalled, forgotten...))
		})
	}
}

func TestAnEmptyBundleRemovesNothing(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	empty, err := content.New(nil)
	require.NoError(t, err)
	object, err := empty.Content()
	require.NoError(t, err)
	w.hub.Put(contentKind, object)
	w.edit("app", func(bd *fleet.BundleDeployment) { bd.Spec.DeploymentID = empty.ID() + ":x" })
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "True " })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), "holds no resources")
	assert.Len(t, w.deployer.jobsOf("app"), 1)
}

func TestNamespacesAreSelectedByTheirLabels(t *testing.T) {
	w := start(t)
	_, err := w.local.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "b"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"other":   "target namespace other does not match AllowedTargetNamespaceSelector (team=a); namespace labels map[team:b]",
		"missing": "target namespace missing does not exist on downstream cluster",
	} {
		w.put(name, func(bd *fleet.BundleDeployment) {
			bd.Spec.Options.TargetNamespace = name
			bd.Spec.Options.AllowedTargetNamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		})
		w.becomes(name, "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") == "False "+want })
		assert.Empty(t, w.deployer.jobsOf(name))
	}
	_, err = w.local.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "missing", Labels: map[string]string{"team": "a"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.isDeployed("missing")
	assert.Equal(t, "True ", conditionOf(w.get("missing").Status, "Deployed"))
}

// O3: one bundle that fails is tried again, more and more slowly, and holds up nobody.
func TestABundleThatFailsIsTriedAgainAndHoldsUpNobody(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Workers = 1 })
	w.deployer.fails["bad"] = errors.New("no route to host")
	w.run()
	w.attach(token)
	w.put("bad")
	w.put("good")
	w.isDeployed("good")
	w.eventually("it is tried again", func() bool { return len(w.deployer.jobsOf("bad")) > 3 })
	status := w.get("bad").Status
	assert.Equal(t, "False no route to host", conditionOf(status, "Deployed"))
	assert.Empty(t, status.AppliedDeploymentID)
	assert.Equal(t, "ErrApplied", status.Display.State)
	assert.Equal(t, 2, w.reads(contentKind), "a content that is needed again is kept")
	w.deployer.with(func() { delete(w.deployer.fails, "bad") })
	w.isDeployed("bad")
	assert.LessOrEqual(t, len(w.patches()), 4, "the same failure is written once")
}

func TestWhatEndsWithTheAgentIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.deployer.fails["app"] = fmt.Errorf("release default/app: %w", context.Canceled)
	w.run()
	w.attach(token)
	w.put("app")
	w.eventually("it is tried again", func() bool { return len(w.deployer.jobsOf("app")) > 2 })
	assert.Empty(t, conditionOf(w.get("app").Status, "Deployed"))
}

func TestAConflictIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.deployer.fails["app"] = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("changed"))
	w.run()
	w.attach(token)
	w.put("app")
	w.eventually("it is tried again", func() bool { return len(w.deployer.jobsOf("app")) > 3 })
	assert.Empty(t, w.patches())
}

func TestANamespaceThatCannotBeChangedIsToldAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.deployer.fails["app"] = &helmdeployer.NamespaceForbidden{Namespace: "default", Err: errors.New("forbidden")}
	w.run()
	w.attach(token)
	w.put("app")
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Installed") != "" })
	status := w.get("app").Status
	assert.Equal(t, "default/app:1", status.Release)
	assert.Contains(t, conditionOf(status, "Installed"), "False not installed: ")
	assert.Contains(t, conditionOf(status, "Ready"), "False not ready: ")
	assert.Equal(t, "NotReady", status.Display.State)
	w.deployer.with(func() { delete(w.deployer.fails, "app"); w.deployer.revisions["app"] = 1 })
	w.isDeployed("app")
	assert.Equal(t, "True ", conditionOf(w.get("app").Status, "Installed"))
}

func TestARefusalIsToldAndNotTriedAgain(t *testing.T) {
	var status fleet.BundleDeploymentStatus
	now := time.Unix(1000, 0)
	deployed(&status, "one", "default/app:1", now)
	observed(&status, drift.Result{Ready: true, NonModified: true}, now)
	notInstalled(&status, "two", "", "timed out waiting for the condition", now)
	assert.Equal(t, "two", status.AppliedDeploymentID)
	assert.Empty(t, status.Release)
	assert.False(t, status.Ready)
	assert.True(t, status.NonModified)
	assert.Equal(t, "True ", conditionOf(status, "Deployed"))
	assert.Equal(t, "False not installed: timed out waiting for the condition", conditionOf(status, "Installed"))
	assert.Equal(t, "False not ready: timed out waiting for the condition", conditionOf(status, "Ready"))
	assert.False(t, isMonitored(fleet.BundleDeploymentSpec{DeploymentID: "two"}, status))
}

func TestAReleaseThatIsMissingIsDeployedAgain(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { delete(w.deployer.revisions, "app") })
	w.Drifted("app")
	w.eventually("it is deployed again", func() bool { return len(w.deployer.jobsOf("app")) == 2 })
}

func TestContentsInARegistryAreRefusedClearly(t *testing.T) {
	w := start(t)
	w.put("app", func(bd *fleet.BundleDeployment) { bd.Spec.OCIContents = true })
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), "spec.ociContents")
	assert.Empty(t, w.deployer.jobsOf("app"))
}
