package bundle

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

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/target"
)

func valuesHash(t *testing.T, data map[string][]byte) string {
	t.Helper()
	hash, err := target.ValuesHash(data)
	require.NoError(t, err)
	return hash
}

// B07, B10: a bundle whose values are not there waits, and nobody gets blanks.
func TestABundleWaitsForItsValues(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	data := map[string][]byte{"values.yaml": []byte("password: canary")}
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Spec.ValuesHash = valuesHash(t, data) }))
	w.mustLook()
	assert.Zero(t, w.deployments.Len())
	assert.Contains(t, w.readyMessage(), "False WaitingForValues waiting for Secret ws/app")
	assert.False(t, w.woken(), "it does not poll")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: app}, Type: fleet.SecretTypeBundleValues, Data: data}
	w.secrets.Add(secret)
	w.h.onSecret(nil, secret)
	assert.True(t, w.woken())
	w.mustLook()
	require.NotNil(t, w.deployment("a"))
	assert.JSONEq(t, `{"password":"canary"}`, string(w.secrets.Live(placeOf("a"), app).Data["values"]))
}

// B08: a cache that is behind makes no second object, and no failure.
func TestACacheThatIsBehindIsNoTrouble(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.deployments.Lag, w.secrets.Lag, w.contents.Lag = true, true, true
	w.mustLook()
	w.takeCalls()
	w.mustLook()
	for _, call := range w.takeCalls() {
		assert.NotContains(t, call, "create ", "it remembers what it has just made")
	}

	// Another process, which remembers nothing.
	w.h = newHandler(w.h.Deps)
	w.mustLook()
	w.mustLook()
	assert.Equal(t, "0/1", w.status().Display.ReadyClusters)
	assert.NotContains(t, w.readyMessage(), "already exists")
	assert.JSONEq(t, `{"password":"canary"}`, string(w.secrets.Live(placeOf("a"), app).Data["values"]))
}

// B08: the values of a version that runs are not overwritten by those of one that is only staged, whatever the cache shows.
func TestTheValuesOfARunningVersionSurviveABlindCache(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	w.agentsReport()

	// The bundle is changed and paused, and a new process sees neither deployment nor Secret.
	w.bundles.Add(newBundle(withValues, func(b *fleet.Bundle) {
		b.Generation, b.Spec.Paused = 2, true
		b.Spec.Helm.Values.Data["password"] = "other"
	}))
	w.h = newHandler(w.h.Deps)
	w.deployments.Hide(placeOf("a"), app)
	w.secrets.Hide(placeOf("a"), app)
	w.mustLook()
	w.mustLook()
	secret := w.secrets.Live(placeOf("a"), app)
	assert.JSONEq(t, `{"password":"canary"}`, string(secret.Data["values"]))
	assert.JSONEq(t, `{"password":"other"}`, string(secret.Data["stagedValues"]))
}

func TestALostSecretIsNotReplacedByBlanks(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	w.agentsReport()
	w.secrets.Remove(placeOf("a"), app)
	w.h = newHandler(w.h.Deps) // which remembers nothing
	w.bundles.Add(newBundle(withValues, func(b *fleet.Bundle) {
		b.Generation, b.Spec.Paused = 2, true
		b.Spec.Helm.Values.Data["password"] = "other"
	}))
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), app))
	assert.True(t, w.deployment("a").Spec.WaitingForValues)

	// When the next version may go on, it does.
	w.bundles.Add(newBundle(withValues, func(b *fleet.Bundle) {
		b.Generation = 3
		b.Spec.Helm.Values.Data["password"] = "other"
	}))
	w.mustLook()
	assert.JSONEq(t, `{"password":"other"}`, string(w.secrets.Live(placeOf("a"), app).Data["values"]))
	assert.False(t, w.deployment("a").Spec.WaitingForValues)
}

// A Secret that is read late, with the same digest, is no reason to wait.
func TestASecretThatTheCacheLacksIsReadLive(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	w.agentsReport()
	w.h = newHandler(w.h.Deps)
	w.secrets.Hide(placeOf("a"), app)
	w.takeCalls()
	w.mustLook()
	for _, call := range w.takeCalls() {
		assert.NotContains(t, call, "create")
		assert.NotContains(t, call, "update secret")
	}
	assert.False(t, w.deployment("a").Spec.WaitingForValues)
}

// An agent that reports while the hub writes does not have the decision made anew.
func TestAReportOfTheAgentMeanwhileIsNoConflict(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.agentsReport()
	w.mustLook()
	conflicts := 1
	w.fail = func(kind, verb, _ string) error {
		if kind == "deployment" && verb == "update" && conflicts > 0 {
			conflicts--
			return apierrors.NewConflict(schema.GroupResource{Resource: "bundledeployments"}, app, nil)
		}
		return nil
	}
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2; b.Spec.Resources[0].Content = "kind: Secret" }))
	w.mustLook()
	assert.Zero(t, conflicts)
	assert.NotEqual(t, w.deployment("a").Status.AppliedDeploymentID, w.deployment("a").Spec.DeploymentID)
}

func TestTwoBundlesOfOneNameDoNotShareACluster(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.deployments.Add(&fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: app, Labels: map[string]string{
		fleet.BundleNamespaceLabel: "elsewhere", fleet.BundleLabel: app,
	}}})
	w.bundles.Add(newBundle())
	require.Error(t, w.look())
	assert.Contains(t, w.readyMessage(), "belongs to the bundle of that name in namespace elsewhere")
	assert.Equal(t, "elsewhere", w.deployment("a").Labels[fleet.BundleNamespaceLabel])
}

// The values of the loser would be removed by the other, written again, and so on; its copies go nowhere either.
func TestOfTwoBundlesOfOneNameTheLaterLaysNothingDown(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.deployments.Add(&fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: app, Labels: map[string]string{
		fleet.BundleNamespaceLabel: "elsewhere", fleet.BundleLabel: app,
	}}})
	w.bundles.Add(newBundle(withValues, copying(pull)))
	require.Error(t, w.look())
	assert.Nil(t, w.secrets.Live(placeOf("a"), app), "values")
	assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"), "copies")
	assert.Contains(t, w.readyMessage(), "belongs to the bundle of that name in namespace elsewhere")

	w.deployments.Remove(placeOf("a"), app)
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), app), "the name is free")
}

func TestADeploymentWithoutItsLabelsIsTakenBack(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	bare := w.deployment("a").DeepCopy()
	bare.Labels = nil
	w.deployments.Add(bare)
	w.h = newHandler(w.h.Deps)
	w.mustLook()
	w.mustLook()
	assert.Equal(t, workspace, w.deployment("a").Labels[fleet.BundleNamespaceLabel])
}

// An API server that tells of an object when it is made, and of none when it is read, is not asked without pause.
func TestAnAPIServerThatContradictsItselfIsAskedLessAndLess(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.fail = func(kind, verb, key string) error {
		if kind == "deployment" && verb == "create" {
			return apierrors.NewAlreadyExists(schema.GroupResource{Group: group, Resource: "bundledeployments"}, key)
		}
		return nil
	}
	var waits []time.Duration
	for range 12 {
		w.bundles.ForgetTimers()
		w.mustLook()
		after, ok := w.bundles.After(workspace, app)
		require.True(t, ok)
		waits = append(waits, after)
	}
	assert.Zero(t, waits[0])
	assert.IsIncreasing(t, waits[:10])
	assert.Equal(t, kube.RecentLife, waits[11])

	w.fail = nil
	w.mustLook()
	assert.NotNil(t, w.deployment("a"))
}

// Whatever write of a release, staged or not, fails: the next look makes up for it, and no values of a running version are
// lost.
func TestAFailedWriteLosesNoValues(t *testing.T) {
	for _, paused := range []bool{true, false} {
		for failing, more := 1, true; more; failing++ {
			w := newWorld(t)
			w.addCluster("a", prod)
			w.bundles.Add(newBundle(withValues))
			w.mustLook()
			w.agentsReport()
			w.mustLook()
			version := func(generation int64, password string) {
				w.bundles.Add(newBundle(withValues, func(b *fleet.Bundle) {
					b.Generation, b.Spec.Paused = generation, paused
					b.Spec.Helm.Values.Data["password"] = password
				}))
			}
			writes := 0
			w.fail = func(kind, verb, _ string) error {
				if (kind != "deployment" && kind != "secret") || (verb != "create" && verb != "update") {
					return nil
				}
				if writes++; writes == failing {
					return apierrors.NewInternalError(errors.New("out of order"))
				}
				return nil
			}
			version(2, "second")
			_ = w.look()
			w.fail, more = nil, writes >= failing
			w.h = newHandler(w.h.Deps) // which remembers nothing
			version(3, "third")
			w.mustLook()
			assert.False(t, w.deployment("a").Spec.WaitingForValues, "paused %v, write %d", paused, failing)
			current := `{"password":"third"}`
			if paused {
				current = `{"password":"canary"}`
			}
			secret := w.secrets.Live(placeOf("a"), app)
			assert.JSONEq(t, current, string(secret.Data["values"]), "paused %v, write %d", paused, failing)
			assert.JSONEq(t, `{"password":"third"}`, string(secret.Data["stagedValues"]), "paused %v, write %d", paused, failing)
			assert.Equal(t, deployment.ValuesIn(secret).Hash(), w.deployment("a").Spec.ValuesHash, "paused %v, write %d", paused, failing)
		}
	}
}
