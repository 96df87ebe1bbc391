package bundle

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logrustest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func deleting(b *fleet.Bundle) { b.DeletionTimestamp = &metav1.Time{Time: now} }

// lookMissing has the handler look at a bundle that the cache does not have; bury has it do so again when the bundle is
// missing for long.
func (w *world) lookMissing() {
	w.t.Helper()
	_, err := w.h.onChange(workspace+"/"+app, nil)
	require.NoError(w.t, err)
}

func (w *world) bury() {
	w.t.Helper()
	w.lookMissing()
	w.clock.SetTime(w.clock.Now().Add(missingFor))
	w.lookMissing()
}

func TestADeletedBundleGoesWhenItsDeploymentsAreGone(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", prod)
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: app}, Type: fleet.SecretTypeBundleValues})
	w.bundles.Add(newBundle())
	w.mustLook()
	w.bundles.Add(newBundle(deleting))

	w.deployments.Lag = true // the deployments go slowly
	w.mustLook()
	assert.Contains(t, w.readyMessage(), "False Leaving its deployments are being removed")
	assert.NotEmpty(t, w.bundles.Live(workspace, app).Finalizers)
	w.takeCalls()
	w.mustLook()
	assert.Empty(t, w.takeCalls(), "what is being deleted is not deleted again")

	w.deployments.Sync()
	w.mustLook()
	assert.Empty(t, w.bundles.Live(workspace, app).Finalizers)
	assert.Nil(t, w.secrets.Live(workspace, app))
}

// That no deployment is left is not for the cache to say.
func TestABundleDoesNotGoBeforeADeploymentThatTheCacheLacks(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.deployments.Hide(placeOf("a"), app)
	w.bundles.Add(newBundle(deleting))
	w.mustLook()
	assert.NotEmpty(t, w.bundles.Live(workspace, app).Finalizers)
	assert.Nil(t, w.deployment("a"))
}

func TestASecretOfAnotherTypeIsNotTheBundles(t *testing.T) {
	w := newWorld(t)
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: app}, Type: corev1.SecretTypeOpaque})
	w.bundles.Add(newBundle(deleting))
	w.mustLook()
	assert.Empty(t, w.bundles.Live(workspace, app).Finalizers)
	assert.NotNil(t, w.secrets.Live(workspace, app))
}

func TestWhatABundleLeftBehindIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()

	w.bury() // the cache lacks it, and the API server has it
	assert.NotNil(t, w.deployment("a"))

	w.bundles.Remove(workspace, app)
	w.bury()
	assert.Nil(t, w.deployment("a"))
}

// E10: whoever takes the hub away, or begins anew, does not think of what runs on clusters.
func TestWhatABundleDeployedStaysWhereMoreThanTheBundleGoes(t *testing.T) {
	leaving := &metav1.Time{Time: now}
	for name, take := range map[string]func(w *world){
		"the kind is being deleted": func(w *world) { w.definition.DeletionTimestamp = leaving },
		"the kind is gone":          func(w *world) { w.definition = nil },
		"its namespace is being deleted": func(w *world) {
			w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workspace, DeletionTimestamp: leaving}})
		},
		"its namespace is gone": func(w *world) { w.namespaces.Remove("", workspace) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addCluster("a", prod)
			w.bundles.Add(newBundle())
			w.mustLook()
			take(w)
			w.bundles.Add(newBundle(deleting))
			w.mustLook()
			assert.NotNil(t, w.deployment("a"))
			assert.Empty(t, w.bundles.Live(workspace, app).Finalizers, "and the Bundle itself is held up by nothing")

			w.bundles.Remove(workspace, app)
			w.bury()
			assert.NotNil(t, w.deployment("a"))
		})
	}
}

func TestABundleThatNobodySawGoTellsNothingOfWhatIsOlderThanItsKind(t *testing.T) {
	for name, renew := range map[string]func(w *world){
		"the kind": func(w *world) { w.definition.CreationTimestamp = metav1.NewTime(now) },
		"its namespace": func(w *world) {
			w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workspace, CreationTimestamp: metav1.NewTime(now)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addCluster("a", prod)
			w.bundles.Add(newBundle())
			w.mustLook()
			renew(w)
			w.bundles.Remove(workspace, app)
			w.bury()
			assert.NotNil(t, w.deployment("a"))

			w.bundles.Add(newBundle(deleting))
			w.mustLook()
			assert.Nil(t, w.deployment("a"), "who makes the Bundle again and deletes it means it")
		})
	}
}

func TestNothingIsRemovedWhileNobodyKnowsWhetherTheKindStays(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.h.Definition = func(context.Context) (*metav1.PartialObjectMetadata, error) { return nil, errors.New("forbidden") }
	w.bundles.Add(newBundle(deleting))
	require.ErrorContains(t, w.look(), "forbidden")
	assert.NotNil(t, w.deployment("a"))
	assert.NotEmpty(t, w.bundles.Live(workspace, app).Finalizers)
}

// A backup may bring the deployments back before their bundles.
func TestABundleThatNobodySawGoMayComeBack(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.h = newHandler(w.h.Deps)
	w.bundles.Remove(workspace, app)
	w.bundles.ForgetTimers()
	w.takeCalls()
	w.lookMissing()
	after, ok := w.bundles.After(workspace, app)
	require.True(t, ok)
	assert.Equal(t, missingFor, after)
	w.clock.SetTime(now.Add(missingFor - time.Second))
	w.lookMissing()
	assert.NotNil(t, w.deployment("a"))
	assert.Empty(t, w.takeCalls(), "a report of an agent meanwhile costs nothing")

	w.bundles.Add(newBundle())
	w.mustLook()
	w.bundles.Remove(workspace, app)
	w.clock.SetTime(now.Add(missingFor + time.Second))
	w.lookMissing()
	assert.NotNil(t, w.deployment("a"), "it was back: the time begins anew")
	w.clock.SetTime(now.Add(2*missingFor + time.Second))
	w.lookMissing()
	assert.Nil(t, w.deployment("a"))
}

func TestThatSomethingStaysIsToldOnceAndNotAskedAgainAtEachReport(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.definition.UID, w.definition.CreationTimestamp = "first", metav1.NewTime(now)
	w.bundles.Remove(workspace, app)
	log := logrustest.NewGlobal()
	t.Cleanup(func() { logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{}) })
	w.bury()
	require.Len(t, log.AllEntries(), 1)
	asked := 0
	definition := w.h.Definition
	w.h.Definition = func(ctx context.Context) (*metav1.PartialObjectMetadata, error) { asked++; return definition(ctx) }
	w.takeCalls()
	for range 5 {
		w.lookMissing()
	}
	assert.Zero(t, asked)
	assert.Empty(t, w.takeCalls())

	w.clock.SetTime(w.clock.Now().Add(keptFor))
	w.lookMissing()
	assert.Equal(t, 1, asked)
	assert.Len(t, log.AllEntries(), 1, "it is the same")
	w.definition.UID = "second"
	w.clock.SetTime(w.clock.Now().Add(keptFor))
	w.lookMissing()
	assert.Len(t, log.AllEntries(), 2)
	assert.NotNil(t, w.deployment("a"))
}
