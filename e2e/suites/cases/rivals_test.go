package cases

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// looks bounds what a refused import may ask of the cluster: two reads at each of the few looks that follow the refusal.
const looks = 12

// deployed is the agent's Deployment as it is now: another UID is another Deployment, another template another pod.
type deployed struct {
	uid      string
	template string
}

func (b *bed) deployed(t *testing.T, p place) deployed {
	t.Helper()
	d, err := b.edge.Kube.AppsV1().Deployments(p.agents).Get(t.Context(), "fleet-agent", metav1.GetOptions{})
	require.NoError(t, err)
	template, err := json.Marshal(d.Spec.Template)
	require.NoError(t, err)
	return deployed{uid: string(d.UID), template: string(template)}
}

// leftAlone observes that hubs write nothing to the downstream cluster, and hardly look at it.
func (b *bed) leftAlone(t *testing.T, since count.Counts) {
	t.Helper()
	time.Sleep(window) // the window in which nothing may happen
	now, err := b.edge.Requests()
	require.NoError(t, err)
	seen := now.Sub(since).Where(count.By("fleet-controller"))
	require.Zero(t, seen.Writes().Total(), "writes of hubs downstream:\n%s", seen.Writes())
	require.LessOrEqual(t, seen.Total(), looks, "%s", seen)
}

func (b *bed) requestsSoFar(t *testing.T) count.Counts {
	t.Helper()
	counts, err := b.edge.Requests()
	require.NoError(t, err)
	return counts
}

// R03: two Clusters lead to one cluster and one namespace for agents. The first has it, the second waits for it.
func TestOfTwoClustersWithOneAgentNamespaceTheFirstHasIt(t *testing.T) {
	b, first := shared(t), newPlace()
	second := place{workspace: newPlace().workspace, agents: first.agents}
	b.manage(t, first, "edge")
	b.agent(t, first, "agent-0")
	b.connected(t, first, "edge")
	before, agent := b.requestsSoFar(t), b.deployed(t, first)

	b.manage(t, second, "edge")
	cluster := b.imported(t, second, "edge", "AgentNamespaceTaken")
	require.Contains(t, stage.Condition(cluster.Status.Conditions, fleet.ClusterConditionImported).Message, first.workspace+"/edge")
	b.leftAlone(t, before)
	require.Equal(t, agent, b.deployed(t, first), "the agent was put there anew")
	b.connected(t, first, "edge")

	b.deleteCluster(t, first.workspace, "edge")
	b.connected(t, second, "edge")
	require.Equal(t, agent.uid, b.deployed(t, first).uid, "the agent was removed in between")
}

// R03, of two hubs: a cluster moves to another hub and the first one is not told. It lets go, until a person says that it
// is to have the cluster back.
func TestAClusterThatMovedToAnotherHubIsNotTakenBack(t *testing.T) {
	first, p := shared(t), newPlace()
	next := own(t, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}})
	first.manage(t, p, "edge")
	first.agent(t, p, "agent-0")
	first.connected(t, p, "edge")
	agent := first.deployed(t, p)

	next.manage(t, p, "edge")
	next.connected(t, p, "edge")
	first.imported(t, p, "edge", "AgentNamespaceTaken")
	first.leftAlone(t, first.requestsSoFar(t))
	require.Equal(t, agent.uid, first.deployed(t, p).uid)
	next.connected(t, p, "edge")

	redeploy(t, first, p)
	await(t, "the first hub to have it again", func(ctx context.Context) (bool, string, error) {
		cluster, err := stage.Get[fleet.Cluster](ctx, first.Hub, stage.Clusters, p.workspace, "edge")
		if err != nil || cluster == nil {
			return false, "", err
		}
		return stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionImported) && stage.Connected(cluster), stage.Conditions(cluster.Status.Conditions), nil
	})
	next.imported(t, p, "edge", "AgentNamespaceTaken")
	next.leftAlone(t, next.requestsSoFar(t))
}

// redeploy gives the order to put the agent there once more.
func redeploy(t *testing.T, b *bed, p place) {
	t.Helper()
	patch := []byte(`{"spec":{"redeployAgentGeneration":1}}`)
	_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace).Patch(t.Context(), "edge", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}
