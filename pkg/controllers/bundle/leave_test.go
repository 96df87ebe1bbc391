package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func deleting(b *fleet.Bundle) { b.DeletionTimestamp = &metav1.Time{Time: now} }

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

	_, err := w.h.onChange(workspace+"/"+app, nil) // the cache lacks it, and the API server has it
	require.NoError(t, err)
	assert.NotNil(t, w.deployment("a"))

	w.bundles.Remove(workspace, app)
	_, err = w.h.onChange(workspace+"/"+app, nil)
	require.NoError(t, err)
	assert.Nil(t, w.deployment("a"))
}
