package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// H04: a bundle gets another release name, and does not become ready under it. What runs stays the same object, as it was,
// and is the old release's; what the attempt made goes.
func TestAFailedNewNameLeavesWhatRuns(t *testing.T) {
	b := newBed(t)
	service := func(port string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: " + port + "}]}\n"
	}
	maps := b.Kube.CoreV1().ConfigMaps(b.namespace)
	first := b.deploy(b.bundle("named", configMap("a", "one"), service("80")))
	running, err := maps.Get(b.ctx(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	job := b.bundle("named", configMap("a", "two"), service("81"), configMap("fresh", "two"), neverReady)
	job.Release, job.Options.Helm = first.ID, &fleet.HelmOptions{ReleaseName: "renamed", TimeoutSeconds: 2, Atomic: true}
	_, err = b.Deploy(b.ctx(), job)
	require.ErrorContains(t, err, "has been rolled back due to atomic being set")
	assert.True(t, helmdeployer.IsFinal(err))
	live, err := maps.Get(b.ctx(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, running.UID, live.UID)
	assert.Equal(t, "named", live.Annotations["meta.helm.sh/release-name"])
	assert.Equal(t, "one", b.value("a"))
	assert.Empty(t, b.value("fresh"))
	ports, err := b.Kube.CoreV1().Services(b.namespace).Get(b.ctx(), "s", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, ports.Spec.Ports, 1)
	assert.Equal(t, int32(80), ports.Spec.Ports[0].Port)

	job = b.bundle("named", configMap("a", "three"), service("82"))
	job.Options.Helm = &fleet.HelmOptions{ReleaseName: "renamed"}
	b.deploy(job)
	assert.Equal(t, "three", b.value("a"))
	live, err = maps.Get(b.ctx(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, running.UID, live.UID)
	assert.Equal(t, "renamed", live.Annotations["meta.helm.sh/release-name"])
}
