package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A look takes a while, and the cache goes on in it: what was made before, and is shown between the list of a bundle's
// deployments and the look at one of its clusters, is neither in the list nor remembered any more.
func TestADeploymentThatTheCacheShowsDuringALookIsNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.deployments.Lag, w.secrets.Lag = true, true
	w.mustLook()
	listed, err := w.h.existing(workspace, app)
	require.NoError(t, err)
	require.Empty(t, listed)

	w.deployments.Sync()
	w.secrets.Sync()
	w.h.onDeployment(nil, w.deployment("a"))
	w.h.onSecret(nil, w.secrets.Live(placeOf("a"), app))
	_, remembered := w.h.deployments.Find(placeOf("a"), app)
	require.False(t, remembered)
	found, err := w.h.place(w.bundles.Live(workspace, app), w.clusters.Live(workspace, "a"), nil)
	require.NoError(t, err)
	require.NotNil(t, found.deployment)
	assert.Equal(t, w.deployment("a").UID, found.deployment.UID)
	assert.NotNil(t, found.secret)
}

func TestAnotherBundlesDeploymentIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	foreign := w.deployment("a")
	foreign.Labels[fleet.BundleNamespaceLabel] = "elsewhere"
	w.deployments.Add(foreign)
	w.h.onDeployment(nil, foreign)
	found, err := w.h.place(w.bundles.Live(workspace, app), w.clusters.Live(workspace, "a"), nil)
	require.NoError(t, err)
	assert.Nil(t, found.deployment)
}

// What was listed before the cache showed the agent's report, and is not remembered any more, is taken as it is now.
func TestADeploymentThatChangesDuringALookIsTakenAsItIs(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	listed := w.deployment("a")
	changed := w.deployment("a")
	changed.Labels["any"] = "change"
	written, err := w.deployments.Update(changed)
	require.NoError(t, err)
	w.h.deployments.Created(written)
	assert.Equal(t, written.ResourceVersion, w.h.latest(listed).ResourceVersion, "as it was written")
	w.h.onDeployment(listed, written)
	assert.Equal(t, written.ResourceVersion, w.h.latest(listed).ResourceVersion, "as the cache has it")
}

// Whether a namespace is a cluster's place is what its annotations say.
func TestAPlaceThatIsMarkedAnewWakesTheBundlesOfItsCluster(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.h.waker.Started()
	place := w.namespaces.Live("", placeOf("a"))
	w.h.onNamespace(place, place.DeepCopy())
	assert.False(t, w.woken())
	unmarked := place.DeepCopy()
	unmarked.Annotations = nil
	w.h.onNamespace(place, unmarked)
	assert.True(t, w.woken(), "it was the cluster's until now")
	w.bundles.ForgetTimers()
	w.h.onNamespace(unmarked, place)
	assert.True(t, w.woken())
	w.bundles.ForgetTimers()
	w.h.onNamespace(place, nil)
	assert.True(t, w.woken())
}
