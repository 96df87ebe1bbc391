package clusterimport

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
)

// localHub has the local cluster imported, and its agent switched off.
func localHub(t *testing.T, hubUIDIs func(d *downstream) string) (*hub, *downstream) {
	t.Helper()
	h, d := newHub(t), newDownstream(t)
	h.HubUID = hubUIDIs(d)
	secret := kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig})
	secret.Namespace = "fleet-local"
	h.secrets.Add(secret)
	h.clusters.Add(cluster(imported, func(c *fleet.Cluster) {
		c.Namespace, c.Name, c.Status.Agent.LastSeen = "fleet-local", "local", metav1.NewTime(now)
	}))
	h.bundles.Add(&fleet.Bundle{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fleet-local", Name: "fleet-agent-local",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Cluster", Name: "local", UID: h.clusters.Live("fleet-local", "local").UID}},
	}})
	d.put(everything(system)...)
	h.configure(t, map[string]any{"bootstrap": config.Bootstrap{Namespace: "fleet-local", LocalAgentDisabled: true}})
	h.writes()
	d.Reset()
	return h, d
}

const localKey = "fleet-local/local"

func TestTheLocalAgentIsTornDownOnceItIsProvedToBeTheHubs(t *testing.T) {
	h, d := localHub(t, func(d *downstream) string { return d.uid })

	require.NoError(t, h.work(t.Context(), localKey))

	assert.Equal(t, []string{"delete Bundle fleet-local/fleet-agent-local", "updateStatus Cluster " + localKey}, h.writes())
	assert.Empty(t, d.objects())
	status := h.clusters.Live("fleet-local", "local").Status
	assert.Equal(t, fleet.AgentStatus{}, status.Agent)
	assert.Nil(t, status.AgentDeployedGeneration)
	c := conditions.GetCondition(status.Conditions, fleet.ClusterConditionImported)
	assert.Equal(t, "LocalAgentDisabled", c.Reason)
	assert.Contains(t, c.Message, "removed")
	d.Reset()
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Empty(t, h.writes())
	assert.Empty(t, d.Requests())

	h.configure(t, map[string]any{"bootstrap": config.Bootstrap{Namespace: "fleet-local"}})
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Equal(t, []string{"create Token fleet-local/import-token-local"}, h.writes(), "wanted again, it is put there again")
}

// TestIsManagementCluster of the reference.
func TestAClusterThatIsMerelyNamedLocalKeepsItsAgent(t *testing.T) {
	for _, uid := range []string{"uid-of-another", ""} {
		h, d := localHub(t, func(*downstream) string { return uid })
		before := d.objects()
		require.NoError(t, h.work(t.Context(), localKey))
		assert.Equal(t, before, d.objects())
		assert.Equal(t, 1, h.bundles.Len())
		c := conditions.GetCondition(h.clusters.Live("fleet-local", "local").Status.Conditions, fleet.ClusterConditionImported)
		assert.Contains(t, c.Message, "left alone")
	}
}

func TestATeardownThatFailsIsTriedAgain(t *testing.T) {
	h, d := localHub(t, func(d *downstream) string { return d.uid })
	h.fails["delete Bundle fleet-local/fleet-agent-local"] = errors.New("no")
	require.Error(t, h.work(t.Context(), localKey))
	delete(h.fails, "delete Bundle fleet-local/fleet-agent-local")
	d.refuse("/secrets/", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	require.Error(t, h.work(t.Context(), localKey))
	d.Intercept(nil)
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Empty(t, d.objects())
}

// TestImportCluster_LocalAgentDisabled of the reference, which calls that done: deployed, and no kubeconfig to go there
// with. The agent runs on until there is one.
func TestATeardownWaitsForItsKubeconfig(t *testing.T) {
	h, d := localHub(t, func(d *downstream) string { return d.uid })
	kubeconfig := h.secrets.Live("fleet-local", "kubeconfig")
	before := d.objects()
	h.secrets.Remove("fleet-local", "kubeconfig")
	for range 3 {
		require.NoError(t, h.work(t.Context(), localKey), "it waits, and is not tried again and again")
	}
	assert.Equal(t, []string{"updateStatus Cluster " + localKey}, h.writes())
	status := h.clusters.Live("fleet-local", "local").Status
	c := conditions.GetCondition(status.Conditions, fleet.ClusterConditionImported)
	assert.Equal(t, "KubeconfigMissing", c.Reason)
	assert.Contains(t, c.Message, "fleet-local/kubeconfig")
	assert.Contains(t, c.Message, "still has to be removed")
	assert.NotNil(t, status.AgentDeployedGeneration, "the agent is still there, and known")
	assert.Equal(t, before, d.objects())
	assert.Empty(t, d.Requests())

	h.secrets.Add(kubeconfig)
	require.NoError(t, h.work(t.Context(), localKey))
	assert.Empty(t, d.objects())
	c = conditions.GetCondition(h.clusters.Live("fleet-local", "local").Status.Conditions, fleet.ClusterConditionImported)
	assert.Equal(t, "LocalAgentDisabled", c.Reason)
}

func TestTheAgentIsRemovedFromWhereItWasPut(t *testing.T) {
	f := factsOf(cluster())
	assert.Equal(t, []string{system}, agentNamespaces(f))
	f.record.Namespace, f.record.Previous = "agents", []string{"older"}
	assert.Equal(t, []string{"agents", "older"}, agentNamespaces(f))
}
