package helmdeployer

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
)

// The bundle of the agent takes over what the import applied: the objects stay the same ones, in the same set. It is not
// waited for, whatever its options say, because the agent that waits would be ended by what it waits for.
func TestTheAgentsBundleAdoptsWhatTheImportApplied(t *testing.T) {
	w := newWorld(t)
	applied := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agentNamespace, Name: "fleet-agent",
			Labels:      map[string]string{"objectset.rio.cattle.io/hash": names.ObjectSetHash("fleet-agent-bootstrap", "", "", "")},
			Annotations: map[string]string{"objectset.rio.cattle.io/id": "fleet-agent-bootstrap", "objectset.rio.cattle.io/applied": "x"},
		},
		Data: map[string]string{"key": "imported"},
	}
	w.put(applied)
	imported := w.Object("ConfigMap", agentNamespace, "fleet-agent").GetUID()
	job := raw("fleet-agent-c1", configMap("fleet-agent", "bundled"))
	job.Agent, job.Options.DefaultNamespace = true, agentNamespace
	job.Options.Helm = &fleet.HelmOptions{TimeoutSeconds: 600, Atomic: true}
	d := w.deployer()
	got, err := d.Deploy(t.Context(), job)
	require.NoError(t, err)
	live := w.Object("ConfigMap", agentNamespace, "fleet-agent")
	assert.Equal(t, map[string]any{"key": "bundled"}, live.Object["data"])
	assert.Equal(t, imported, live.GetUID())
	assert.Equal(t, applied.Labels["objectset.rio.cattle.io/hash"], live.GetLabels()["objectset.rio.cattle.io/hash"])
	assert.Equal(t, "fleet-agent-c1", live.GetAnnotations()["meta.helm.sh/release-name"])

	// A renamed cluster has a bundle, and a release, of another name; the agent stays.
	job.Release, job.Options.Helm = got.ID, &fleet.HelmOptions{ReleaseName: "fleet-agent-renamed"}
	_, err = d.Deploy(t.Context(), job)
	require.NoError(t, err)
	assert.True(t, w.has("ConfigMap", agentNamespace, "fleet-agent"))
	assert.Empty(t, w.states(agentNamespace, "fleet-agent-c1"))
	assert.Equal(t, []string{"1 deployed"}, w.states(agentNamespace, "fleet-agent-renamed"))
}

// An API server changes no PriorityClass. That of the agent is made again where it is to be another; it goes when nobody asks
// for it any more.
func TestThePriorityClassOfTheAgentIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	class := func(value string) string {
		return "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: c}\nvalue: " + value + "\n"
	}
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && onPath(r, "/priorityclasses/c") {
			kubetest.Fail(rw, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "value: Forbidden: may not be changed in an update.")
			return true
		}
		return false
	})
	agents := raw("fleet-agent-c1", configMap("a", "one"), class("1"))
	agents.Agent = true
	_, err := d.Deploy(t.Context(), agents)
	require.NoError(t, err)
	agents.Files[1] = file("manifest-1.yaml", class("2"))
	_, err = d.Deploy(t.Context(), agents)
	require.NoError(t, err)
	assert.EqualValues(t, 2, w.Object("PriorityClass", "", "c").Object["value"])
	agents.Files = agents.Files[:1]
	_, err = d.Deploy(t.Context(), agents)
	require.NoError(t, err)
	assert.False(t, w.has("PriorityClass", "", "c"))

	users := raw("app", class("1"))
	_, err = d.Deploy(t.Context(), users)
	require.NoError(t, err)
	users.Files[0] = file("manifest-0.yaml", class("2"))
	_, err = d.Deploy(t.Context(), users)
	require.ErrorContains(t, err, "may not be changed", "nobody has asked for that")
}
