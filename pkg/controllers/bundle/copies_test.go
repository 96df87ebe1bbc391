package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
)

func copying(list ...fleet.DownstreamResource) func(*fleet.Bundle) {
	return func(b *fleet.Bundle) { b.Spec.DownstreamResources = list }
}

var (
	pull     = fleet.DownstreamResource{Kind: "Secret", Name: "pull"}
	settings = fleet.DownstreamResource{Kind: "ConfigMap", Name: "settings"}
)

func pullSecret(content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "pull", Labels: map[string]string{"kept": "yes", "fleet.cattle.io/x": "no"}},
		Type:       corev1.SecretTypeDockercfg, Data: map[string][]byte{".dockercfg": []byte(content)},
	}
}

func TestCopiesComeBeforeTheDeployment(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.configMaps.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "settings"}, Data: map[string]string{"k": "v"}})
	w.bundles.Add(newBundle(copying(pull, settings)))
	w.mustLook()

	copied := w.secrets.Live(placeOf("a"), "pull")
	require.NotNil(t, copied)
	assert.Equal(t, corev1.SecretTypeDockercfg, copied.Type)
	assert.Equal(t, map[string]string{"kept": "yes", names.ManagedLabel: "true", deployment.CopyLabel: "true"}, copied.Labels)
	assert.Equal(t, "v", w.configMaps.Live(placeOf("a"), "settings").Data["k"])
	assert.Equal(t, workspace, copied.Annotations[names.CopiedFromAnnotation])
	generation := w.deployment("a").Spec.DownstreamResourcesGeneration
	assert.NotZero(t, generation)

	w.agentsReport()
	w.mustLook()
	w.takeCalls()
	w.mustLook()
	assert.Empty(t, w.takeCalls(), "what is copied is not copied again")

	// A change of the source reaches the copy, and the agent is told.
	before := w.secrets.Live(workspace, "pull")
	w.secrets.Add(pullSecret("two"))
	w.h.onSecret(before, w.secrets.Live(workspace, "pull"))
	assert.True(t, w.woken())
	w.mustLook()
	assert.Equal(t, "two", string(w.secrets.Live(placeOf("a"), "pull").Data[".dockercfg"]))
	assert.NotEqual(t, generation, w.deployment("a").Spec.DownstreamResourcesGeneration)
}

func TestAMissingSourceIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(copying(pull)))
	w.mustLook()
	assert.Zero(t, w.deployments.Len())
	assert.Contains(t, w.readyMessage(), "downstreamResources: waiting for secret ws/pull")
}

func TestACopyOverwritesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: "pull"}, Data: map[string][]byte{"x": []byte("theirs")}})
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: names.RenewedCredentialSecret}})
	w.bundles.Add(newBundle(copying(pull)))
	require.Error(t, w.look())
	assert.Equal(t, "theirs", string(w.secrets.Live(placeOf("a"), "pull").Data["x"]))
	assert.Contains(t, w.readyMessage(), "is there and is no copy")

	w.bundles.Add(newBundle(copying(fleet.DownstreamResource{Kind: "secret", Name: names.RenewedCredentialSecret})))
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), names.RenewedCredentialSecret))
}

func TestCopiesGoWithTheLastWhoNeedsThem(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.deployments.Add(&fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: "another"},
		Spec:       fleet.BundleDeploymentSpec{Options: fleet.BundleDeploymentOptions{DownstreamResources: []fleet.DownstreamResource{pull}}},
	})
	w.bundles.Add(newBundle(copying(pull)))
	w.mustLook()
	w.agentsReport()
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2 }))
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"), "another deployment needs it")
	assert.Zero(t, w.deployment("a").Spec.DownstreamResourcesGeneration)

	w.deployments.Remove(placeOf("a"), "another")
	w.bundles.Add(newBundle(copying(pull), func(b *fleet.Bundle) { b.Generation = 3 }))
	w.mustLook()
	w.agentsReport()
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 4 }))
	w.mustLook()
	assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"))
}

// A copy has the type of its source, which anybody may choose: it makes a Secret neither the hub's own nor another bundle's.
func TestACopyIsNotTakenForTheValuesOfAnotherBundle(t *testing.T) {
	for _, kind := range []corev1.SecretType{fleet.SecretTypeBundleDeploymentOptions, corev1.SecretTypeOpaque} {
		w := newWorld(t)
		w.addCluster("a", prod)
		copied := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: app, Labels: map[string]string{deployment.CopyLabel: "true"}},
			Type:       kind, Data: map[string][]byte{"bait": []byte("x")},
		}
		w.secrets.Add(copied)
		w.bundles.Add(newBundle(withValues))
		require.Error(t, w.look())
		assert.Equal(t, copied.Data, w.secrets.Live(placeOf("a"), app).Data, "the values are not laid where others take them from")
		assert.Nil(t, w.deployment("a"))
		assert.Contains(t, w.readyMessage(), "is a copy that the downstreamResources of a bundle name")
	}
}

func TestSecretsThatGiveAccessGoToNoCluster(t *testing.T) {
	for name, test := range map[string]struct {
		kind  corev1.SecretType
		named bool
		why   string
	}{
		"the values of a deployment":  {fleet.SecretTypeBundleDeploymentOptions, false, "is of type fleet.cattle.io/bundle-deployment/v1alpha1"},
		"the values of a token":       {names.ValuesSecretType, false, "is of type fleet.cattle.io/cluster-registration-values"},
		"an account's token":          {corev1.SecretTypeServiceAccountToken, false, "is of type kubernetes.io/service-account-token"},
		"the kubeconfig of a cluster": {corev1.SecretTypeOpaque, true, "is the kubeconfig (spec.kubeConfigSecret) of Cluster ws/a"},
	} {
		w := newWorld(t)
		w.addCluster("a", prod, func(c *fleet.Cluster) {
			if test.named {
				c.Spec.KubeConfigSecret = "pull"
			}
		})
		source := pullSecret("one")
		source.Type = test.kind
		w.secrets.Add(source)
		w.bundles.Add(newBundle(copying(pull)))
		w.mustLook()
		assert.Nil(t, w.secrets.Live(placeOf("a"), "pull"), name)
		assert.Nil(t, w.deployment("a"), name)
		assert.Contains(t, w.readyMessage(), "downstreamResources: secret ws/pull is not copied, since it "+test.why, name)
	}
}

func settingsMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "settings"}, Data: map[string]string{"k": "v"}}
}

// A bundle that was renamed: the new one finds the copy of the old one as it should be, and the cache does not show yet that
// it needs it.
func TestACopyStaysThatADeploymentNeedsWhichTheCacheLacks(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.configMaps.Add(settingsMap())
	w.bundles.Add(newBundle(copying(settings)))
	w.mustLook()
	w.deployments.Add(&fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: placeOf("a"), Name: "renamed"},
		Spec:       fleet.BundleDeploymentSpec{Options: fleet.BundleDeploymentOptions{DownstreamResources: []fleet.DownstreamResource{settings}}},
	})
	w.agentsReport()
	w.deployments.Hide(placeOf("a"), "renamed")
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2 }))
	w.mustLook()
	assert.NotNil(t, w.configMaps.Live(placeOf("a"), "settings"))
}

func TestALostCopyIsMadeAnewWhileTheAgentMissesIt(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.configMaps.Add(settingsMap())
	w.bundles.Add(newBundle(copying(settings)))
	w.mustLook()
	w.mustLook()
	w.configMaps.Remove(placeOf("a"), "settings")
	report := func(has bool) {
		bd := w.deployment("a").DeepCopy()
		bd.Status.AppliedDeploymentID = bd.Spec.DeploymentID
		if has {
			bd.Status.DownstreamResourcesGeneration = bd.Spec.DownstreamResourcesGeneration
		}
		w.deployments.Add(bd)
	}
	report(false)
	w.mustLook()
	assert.NotNil(t, w.configMaps.Live(placeOf("a"), "settings"))

	reads := "get configmap " + placeOf("a") + "/settings"
	w.mustLook()
	w.takeCalls()
	w.mustLook()
	assert.NotContains(t, w.takeCalls(), reads, "a silent agent costs no read at each look")
	report(true)
	w.mustLook()
	assert.NotContains(t, w.takeCalls(), reads, "it has it")
}

func TestALostCopyOfASecretIsMissedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.secrets.Add(pullSecret("one"))
	w.bundles.Add(newBundle(copying(pull)))
	w.mustLook()
	w.bundles.ForgetTimers()
	lost := w.secrets.Live(placeOf("a"), "pull")
	w.secrets.Remove(placeOf("a"), "pull")
	w.h.onSecret(lost, nil)
	assert.True(t, w.woken())
	w.mustLook()
	assert.NotNil(t, w.secrets.Live(placeOf("a"), "pull"))
}
