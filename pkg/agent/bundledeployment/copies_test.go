package bundledeployment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func (w *world) putSource(value string) {
	meta := metav1.ObjectMeta{
		Namespace: clusterNamespace, Name: "shared",
		Labels:      map[string]string{"mine": "yes", fleet.ManagedLabel: "true"},
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: value, names.CopiedFromAnnotation: "fleet-default"},
	}
	w.hub.Put("/secrets", &corev1.Secret{ObjectMeta: meta, Type: "mine/type", Data: map[string][]byte{"key": []byte(value)}})
	w.hub.Put("/configmaps", &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": value}})
}

func copies(bd *fleet.BundleDeployment) {
	bd.Spec.Options.DefaultNamespace = "apps"
	bd.Spec.Options.ServiceAccount = "deployer"
	bd.Spec.Options.DownstreamResources = []fleet.DownstreamResource{{Kind: "Secret", Name: "shared"}, {Kind: "configMap", Name: "shared"}}
	bd.Spec.DownstreamResourcesGeneration = 1
}

func (w *world) copied() (*corev1.Secret, error) {
	return w.local.CoreV1().Secrets("apps").Get(w.t.Context(), "shared", metav1.GetOptions{})
}

func TestObjectsAreCopiedFromTheHub(t *testing.T) {
	w := start(t)
	w.put("app", copies)
	w.eventually("the source is missed", func() bool { return w.reads("/secrets") > 0 })
	assert.Empty(t, w.deployer.jobsOf("app"), "nothing is deployed before they are there")
	w.putSource("one")
	w.isDeployed("app")
	secret, err := w.copied()
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"key": []byte("one")}, secret.Data)
	assert.EqualValues(t, "mine/type", secret.Type)
	assert.Equal(t, map[string]string{"mine": "yes", fleet.BundleDeploymentOwnershipLabel: "app"}, secret.Labels)
	assert.Equal(t, map[string]string{names.CopiedToAnnotation: "apps/shared"}, secret.Annotations, "the copy of the data in an annotation stays behind")
	configMap, err := w.local.CoreV1().ConfigMaps("apps").Get(t.Context(), "shared", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"key": "one"}, configMap.Data)
	assert.Contains(t, w.accounts, "deployer")
	assert.EqualValues(t, 1, w.get("app").Status.DownstreamResourcesGeneration)
	assert.Len(t, w.deployer.jobsOf("app"), 1)

	w.putSource("two")
	w.edit("app", func(bd *fleet.BundleDeployment) { bd.Spec.DownstreamResourcesGeneration = 2 })
	w.becomes("app", "has the second", func(s fleet.BundleDeploymentStatus) bool { return s.DownstreamResourcesGeneration == 2 })
	assert.Len(t, w.deployer.jobsOf("app"), 2, "what uses a copy that changed is deployed again")
	secret, err = w.copied()
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"key": []byte("two")}, secret.Data)

	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("the copies go", func() bool { _, err := w.copied(); return apierrors.IsNotFound(err) })
}

func TestWhatIsNoCopyIsNeverChanged(t *testing.T) {
	w := start(t)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shared"}, Data: map[string][]byte{"key": []byte("own")}}
	_, err := w.local.CoreV1().Secrets("apps").Create(t.Context(), own, metav1.CreateOptions{})
	require.NoError(t, err)
	w.putSource("one")
	w.put("app", copies)
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), "Secret apps/shared exists with other data")
	secret, err := w.copied()
	require.NoError(t, err)
	assert.Equal(t, own.Data, secret.Data)
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.never("removed", func() bool { _, err := w.copied(); return err != nil })
}

func TestACopyThatTwoBundlesUseStaysUntilBothAreGone(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("first", copies)
	w.isDeployed("first")
	w.put("second", copies)
	w.isDeployed("second")
	w.hub.Remove(deployments, clusterNamespace, "first")
	w.eventually("it is the second's", func() bool {
		secret, err := w.copied()
		return err == nil && secret.Labels[fleet.BundleDeploymentOwnershipLabel] == "second"
	})
	w.hub.Remove(deployments, clusterNamespace, "second")
	w.eventually("it goes", func() bool { _, err := w.copied(); return apierrors.IsNotFound(err) })
}

func TestANamespaceIsNotMadeWhereThatIsNotWanted(t *testing.T) {
	w := start(t)
	w.putSource("one")
	no := false
	w.put("app", copies, func(bd *fleet.BundleDeployment) { bd.Spec.Options.CreateNamespace = &no })
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), "createNamespace is false")
}

func TestOtherKindsAreNotCopied(t *testing.T) {
	w := start(t)
	w.put("app", func(bd *fleet.BundleDeployment) {
		bd.Spec.Options.DownstreamResources = []fleet.DownstreamResource{{Kind: "Deployment", Name: "x"}}
	})
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), `"Deployment" is neither Secret nor ConfigMap`)
}

// A copy of the values of another bundle, or of the credential, would lie where any workload of that namespace reads it.
func TestASecretOfFleetsOwnIsNotCopied(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.hub.Put("/secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: "shared"}, Type: fleet.SecretTypeBundleDeploymentOptions,
	})
	w.put("app", copies)
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool {
		return strings.Contains(conditionOf(s, "Deployed"), "Secret shared is Fleet's own")
	})
	_, err := w.copied()
	assert.True(t, apierrors.IsNotFound(err))
	assert.Empty(t, w.deployer.jobsOf("app"))
}
