package trust_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// T02: the downstream cluster gets another CA, and the kubeconfig secret follows. The hub takes it up; the agent, whose own
// trust did not change, is not touched.
func TestANewCAOfTheDownstreamClusterDoesNotTouchItsAgent(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	down := shim.Run(t, b.edge.URL, b.edge.CA())
	c := b.manage(t, "t02", map[string][]byte{"value": b.kubeconfig(t, down.URL(), down.CA())})
	c.start(t)
	was := c.joins(t)
	record, deployment := c.record(t), c.deployment(t)

	require.NoError(t, down.SwapCA())
	calls := down.Counts()
	c.rewrite(t, map[string][]byte{"value": b.kubeconfig(t, down.URL(), down.CA())})
	await(t, "the hub to have looked where the new kubeconfig leads", func(context.Context) (bool, string, error) {
		now := c.record(t)
		return now.Kubeconfig != record.Kubeconfig, now.Kubeconfig, nil
	})
	seen := down.Counts().Sub(calls)
	require.NotZero(t, seen.Total(), "it came by the shim")
	require.Zero(t, seen.Where(count.By("fleet-controller")).Writes().Total(), "writes to the cluster:\n%s", seen)
	require.Equal(t, deployment, c.deployment(t), "the agent's Deployment is as it was")
	require.Equal(t, was, c.registration(t))
	require.Equal(t, record.Time, c.record(t).Time, "it was not imported again")
	cluster := c.connected(t)
	require.True(t, stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionImported), stage.Conditions(cluster.Status.Conditions))

	c.patch(t, `{"redeployAgentGeneration":1}`) // an import with the new CA
	c.joinsAgain(t, was)
}

// record is what the hub noted of the last import.
func (c *cluster) record(t *testing.T) registration.Import {
	t.Helper()
	found, err := stage.Get[fleet.Cluster](t.Context(), c.Hub, stage.Clusters, c.workspace, c.name)
	require.NoError(t, err)
	require.NotNil(t, found)
	record, ok := registration.ImportOf(found.Annotations)
	require.True(t, ok, "the import is recorded")
	return record
}

// deployment is which one the agent's Deployment is, and how often its spec was changed. Its status, and the marks of the
// agent's own bundle, come when they come.
func (c *cluster) deployment(t *testing.T) string {
	t.Helper()
	found, err := c.edge.Kube.AppsV1().Deployments(c.agents).Get(t.Context(), names.AgentDeployment, metav1.GetOptions{})
	require.NoError(t, err)
	return fmt.Sprint(found.UID, " ", found.Generation, " ", stage.GenerationOf(found.Spec.Template.Spec))
}

// T04: a cluster has a CA of its own. It goes before the configured one and is not added to it, in either direction.
func TestACAOfAClustersSecretReplacesTheConfiguredOne(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	own := shim.Run(t, b.HubURL, b.HubCA) // a way to the hub whose certificate the configured CA has not signed
	missing := b.manage(t, "missing", map[string][]byte{"apiServerURL": []byte(own.URL())})
	wrong := b.manage(t, "wrong", map[string][]byte{"apiServerCA": own.CA()})
	missing.start(t)
	wrong.start(t)
	missing.says(t, "HubUnreachable", own.URL(), unknownAuthority, "apiServerCA")
	wrong.says(t, "HubUnreachable", b.front.URL(), unknownAuthority, "apiServerCA")
	for _, c := range []*cluster{missing, wrong} {
		_, err := c.AwaitCluster(until(t), c.workspace, c.name, "Registered=False WaitingForAgent", func(found *fleet.Cluster) bool {
			condition := stage.Condition(found.Status.Conditions, fleet.ClusterConditionRegistered)
			return condition != nil && condition.Status == "False" && condition.Reason == "WaitingForAgent"
		})
		require.NoError(t, err)
	}

	missing.rewrite(t, map[string][]byte{"apiServerCA": own.CA()})
	wrong.rewrite(t, map[string][]byte{"apiServerCA": nil})
	missing.joins(t)
	wrong.joins(t)
	for _, c := range []*cluster{missing, wrong} {
		require.True(t, c.agent.Running(), "no restart")
	}
	require.NotZero(t, own.Counts().Where(count.By("fleet-agent"), count.Leases).Total(), "heartbeats by the cluster's own way")
}
