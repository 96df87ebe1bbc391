package cli

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func imports(c *fleet.Cluster) { c.Spec.KubeConfigSecret = c.Name + "-kubeconfig" }

func generationOf(h *testHub, namespace, name string) int64 {
	return stored[fleet.Cluster](h, "Cluster", namespace, name).Spec.RedeployAgentGeneration
}

func TestRedeployingRaisesTheGenerationAndSaysWhatFollows(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1", imports, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 7 }))
	h.put("Cluster", aCluster("fleet-default", "edge-2"))
	h.put("Cluster", aCluster("fleet-default", "other"))
	code, out, errOut := typed("cluster", "redeploy", "edge-1", "edge-2")
	require.Zero(t, code, errOut)
	assert.Equal(t, "fleet-default/edge-1 (generation 8): the hub puts the agent there once more, and its pod is replaced\n"+
		"fleet-default/edge-2 (generation 1): its agent is replaced by its bundle\n", out)
	assert.Equal(t, int64(8), generationOf(h, "fleet-default", "edge-1"))
	assert.Equal(t, int64(1), generationOf(h, "fleet-default", "edge-2"))
	assert.Zero(t, generationOf(h, "fleet-default", "other"))
}

func TestRedeployingAllLeavesAloneWhatItMust(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "a", imports))
	h.put("Cluster", aCluster("fleet-default", "b", func(c *fleet.Cluster) { c.Spec.Revoked = true }))
	h.put("Cluster", aCluster("fleet-default", "c", func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "x"} }))
	h.put("Cluster", aCluster("fleet-default", "d", func(c *fleet.Cluster) {
		c.DeletionTimestamp, c.Finalizers = ptr(metav1.Now()), []string{names.ClusterFinalizer}
	}))
	h.put("Cluster", aCluster("team-a", "a", imports))

	code, out, errOut := typed("cluster", "redeploy", "--all", "-o", "json")
	require.Zero(t, code, errOut)
	var list items[redeployed]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Items, 4)
	for _, r := range list.Items {
		assert.Equal(t, r.Name == "a", r.Generation == 1, r.Name)
	}
	assert.Zero(t, generationOf(h, "team-a", "a"), "another workspace")

	code, _, errOut = typed("cluster", "redeploy", "--all", "-A")
	require.Zero(t, code, errOut)
	assert.Equal(t, int64(1), generationOf(h, "team-a", "a"))
	assert.Equal(t, int64(2), generationOf(h, "fleet-default", "a"))
	assert.Zero(t, generationOf(h, "fleet-default", "b"))
}

func TestRedeployingByNameGoesOnAfterOneThatCannotBe(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "a", imports, func(c *fleet.Cluster) { c.Spec.Revoked = true }))
	h.put("Cluster", aCluster("fleet-default", "b", imports))
	code, out, errOut := typed("cluster", "redeploy", "a", "nope", "b")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "fleet-default/b (generation 1)")
	assert.Contains(t, errOut, "cluster fleet-default/a is not redeployed: it is revoked (spec.revoked)")
	assert.Contains(t, errOut, "there is no Cluster nope")
}

func TestADryRunRedeploysNothing(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "a", imports))
	code, out, _ := typed("cluster", "redeploy", "a", "--dry-run")
	assert.Zero(t, code)
	assert.Contains(t, out, "would be: ")
	assert.Empty(t, h.Writes())
}

func TestTwoWhoRedeployAtOnceBothCount(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "a", imports))
	patches := 0
	h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			if patches++; patches == 1 {
				c := stored[fleet.Cluster](h, "Cluster", "fleet-default", "a")
				c.Spec.RedeployAgentGeneration++
				h.put("Cluster", c)
			}
		}
		return false
	})
	code, _, errOut := typed("cluster", "redeploy", "a")
	require.Zero(t, code, errOut)
	assert.Equal(t, int64(2), generationOf(h, "fleet-default", "a"))
}

func TestThereIsNothingToRedeploy(t *testing.T) {
	newTestHub(t, "")
	code, _, errOut := typed("cluster", "redeploy", "--all")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "there are no clusters to redeploy")
}
