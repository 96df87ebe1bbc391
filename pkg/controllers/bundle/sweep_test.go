package bundle

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// withCopies has a bundle copy a Secret and a ConfigMap to cluster a.
func withCopies(w *world) {
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.configMaps.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "settings"}, Data: map[string]string{"k": "v"}})
	w.bundles.Add(newBundle(copying(pull, settings)))
	w.mustLook()
	w.agentsReport()
}

// failing has calls fail, as while an API server is away for a moment.
func failing(kinds []string, verb string) func(kind, verb, key string) error {
	return func(kind, called, _ string) error {
		for _, k := range kinds {
			if kind == k && called == verb {
				return errors.New("a short outage")
			}
		}
		return nil
	}
}

func without(b *fleet.Bundle) { b.Generation = 2 }

// Nothing names a copy any more once the deployment is written that does without it.
func TestACopyGoesThoughTheFirstTryFailed(t *testing.T) {
	for name, fails := range map[string]func(kind, verb, key string) error{
		"deletion": failing([]string{"secret", "configmap"}, "delete"), "list of deployments": failing([]string{"deployment"}, "list"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			withCopies(w)
			w.bundles.Add(newBundle(without))
			w.fail = fails
			require.Error(t, w.look())
			assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"))
			w.fail = nil
			w.mustLook()
			assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"))
			assert.Nil(t, w.configMaps.Live(placeOf("a"), "settings"))
			w.agentsReport()
			w.mustLook()
			w.takeCalls()
			w.mustLook()
			assert.Empty(t, w.takeCalls(), "it is not looked for again")
		})
	}
}

// The hub may end between the two writes.
func TestACopyOfASecretThatAnEarlierHubLeftGoes(t *testing.T) {
	w := newWorld(t)
	withCopies(w)
	w.bundles.Add(newBundle(without))
	w.fail = failing([]string{"secret"}, "delete")
	require.Error(t, w.look())
	w.fail = nil
	w.h = newHandler(w.h.Deps)
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"))
}

func TestTheSweepTakesNoCopyThatADeploymentNeeds(t *testing.T) {
	w := newWorld(t)
	withCopies(w)
	w.mustLook()
	w.takeCalls()
	w.clock.SetTime(now.Add(kube.SweepInterval))
	w.mustLook()
	assert.Empty(t, w.takeCalls(), "what the cache knows to be needed is not asked for")

	// Another deployment needs it, which the cache does not show yet; and what is no copy is nobody's business.
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: "theirs"}})
	w.deployments.Add(&fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: "another"},
		Spec:       fleet.BundleDeploymentSpec{Options: fleet.BundleDeploymentOptions{DownstreamResources: []fleet.DownstreamResource{pull}}},
	})
	w.deployments.Hide(placeOf("a"), "another")
	w.bundles.Add(newBundle(without))
	w.clock.SetTime(now.Add(2 * kube.SweepInterval))
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"), "another deployment needs it")
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "theirs"))
	assert.Nil(t, w.configMaps.Live(placeOf("a"), "settings"))

	w.deployments.Remove(placeOf("a"), "another")
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"), "its time has not come")
	w.clock.SetTime(now.Add(3 * kube.SweepInterval))
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"))
}

// Copies are laid down before the deployment that they are for.
func TestTheSweepTakesNoCopyWhoseDeploymentMayBeOnItsWay(t *testing.T) {
	w := newWorld(t)
	withCopies(w)
	laid := w.secrets.Live(placeOf("a"), "pull").DeepCopy()
	laid.Name, laid.UID, laid.CreationTimestamp = "fresh", "uid-of-fresh", metav1.NewTime(now)
	w.secrets.Add(laid)
	w.clock.SetTime(now.Add(youngCopy / 2))
	w.h = newHandler(w.h.Deps)
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "fresh"))
	w.clock.SetTime(now.Add(youngCopy))
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), "fresh"), "it is looked at again")
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"))
}
