package cases

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// imported waits for condition Imported with a reason.
func (b *bed) imported(t *testing.T, p place, name, reason string) *fleet.Cluster {
	t.Helper()
	cluster, err := b.AwaitCluster(until(t), p.workspace, name, "Imported with reason "+reason, func(c *fleet.Cluster) bool {
		condition := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
		return condition != nil && condition.Reason == reason
	})
	require.NoError(t, err)
	return cluster
}

// quiet observes that a cluster of the lab gets no write of the hub's for a while, once what was begun is done: an
// observation window.
func quiet(t *testing.T, cluster *stage.Cluster, what string, and ...func(count.Key) bool) {
	t.Helper()
	counted := append([]func(count.Key) bool{count.By("fleet-controller"), func(k count.Key) bool { return !count.Leases(k) }}, and...)
	stage.AwaitQuiet(t, patience, cluster, counted...)
	before, err := cluster.Requests()
	require.NoError(t, err)
	time.Sleep(window) // the window in which nothing may happen
	after, err := cluster.Requests()
	require.NoError(t, err)
	seen := after.Sub(before).Where(counted...)
	require.Zero(t, seen.Total(), "%s: within %s came\n%s", what, window, seen)
}

// R05: nobody has said under which address agents reach the hub.
func TestImportWithoutAServerURLWaitsQuietlyAndStartsWhenThereIsOne(t *testing.T) {
	b, p := own(t, map[string]any{"apiServerURL": "", "bootstrap": map[string]any{"enabled": false, "namespace": ""}}), newPlace()
	b.manage(t, p, "edge")
	cluster := b.imported(t, p, "edge", "NoServerURL")
	require.Contains(t, stage.Condition(cluster.Status.Conditions, fleet.ClusterConditionImported).Message, "apiServerURL")
	quiet(t, b.edge, "no retry without an address")
	quiet(t, b.Hub, "no write without an address", count.Key.Write)

	require.NoError(t, b.InstallHub(t.Context(), map[string]any{
		"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false, "namespace": ""},
	}))
	b.imported(t, p, "edge", "Imported")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
}

// R05: the address stands in the kubeconfig secret alone.
func TestAServerURLInTheKubeconfigSecretIsEnough(t *testing.T) {
	b, p := own(t, map[string]any{"apiServerURL": "", "apiServerCA": "", "bootstrap": map[string]any{"enabled": false, "namespace": ""}}), newPlace()
	b.manage(t, p, "edge")
	b.imported(t, p, "edge", "NoServerURL")

	secrets := b.Hub.Kube.CoreV1().Secrets(p.workspace)
	secret, err := secrets.Get(t.Context(), kubeconfigOf("edge"), metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data["apiServerURL"], secret.Data["apiServerCA"] = []byte(b.HubURL), b.HubCA
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
}

// R26: the kubeconfig secret comes later than the Cluster.
func TestImportWaitsForItsKubeconfigSecret(t *testing.T) {
	b, p, other := shared(t), newPlace(), newPlace()
	b.workspace(t, p.workspace)
	b.writeCluster(t, p, "edge")
	cluster := b.imported(t, p, "edge", "KubeconfigMissing")
	require.Contains(t, stage.Condition(cluster.Status.Conditions, fleet.ClusterConditionImported).Message, p.workspace+"/"+kubeconfigOf("edge"))

	b.manage(t, other, "edge")
	b.imported(t, other, "edge", "Imported")

	quiet(t, b.Hub, "no write while the secret is missing", count.Key.Write)
	b.writeKubeconfig(t, p.workspace, "edge")
	b.imported(t, p, "edge", "Imported")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
}

// T08, and R26 in reverse: a kubeconfig secret that is deleted and made again does no harm to a working cluster.
func TestAKubeconfigSecretThatIsMadeAgainDisturbsNobody(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	before := b.requests(t, p.workspace)

	require.NoError(t, b.Hub.Kube.CoreV1().Secrets(p.workspace).Delete(t.Context(), kubeconfigOf("edge"), metav1.DeleteOptions{}))
	b.writeKubeconfig(t, p.workspace, "edge")
	time.Sleep(window) // the window in which nothing may happen
	cluster := b.connected(t, p, "edge")
	require.True(t, stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionImported), stage.Conditions(cluster.Status.Conditions))
	require.Equal(t, before[0].UID, b.requests(t, p.workspace)[0].UID)
	require.Len(t, b.requests(t, p.workspace), 1)
}

// O3: a cluster that cannot be imported changes nothing for the others.
func TestABrokenKubeconfigIsNamedAndHeldAgainstNobodyElse(t *testing.T) {
	b, p, other := shared(t), newPlace(), newPlace()
	b.manage(t, p, "edge")
	_, err := b.AwaitCluster(until(t), p.workspace, "edge", "seen", func(*fleet.Cluster) bool { return true })
	require.NoError(t, err)

	secrets := b.Hub.Kube.CoreV1().Secrets(p.workspace)
	secret, err := secrets.Get(t.Context(), kubeconfigOf("edge"), metav1.GetOptions{})
	require.NoError(t, err)
	good := secret.Data["value"]
	secret.Data["value"] = []byte("apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user: {exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\nclusters:\n- name: c\n  cluster: {server: https://127.0.0.1:1}\ncurrent-context: c\n")
	secret.Name, secret.ResourceVersion, secret.UID = kubeconfigOf("bad"), "", ""
	_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	b.writeCluster(t, place{workspace: p.workspace, agents: other.agents}, "bad")
	bad := b.imported(t, p, "bad", "InvalidKubeconfig")
	require.Contains(t, stage.Condition(bad.Status.Conditions, fleet.ClusterConditionImported).Message, "exec")
	b.imported(t, p, "edge", "Imported")

	secret, err = secrets.Get(t.Context(), kubeconfigOf("bad"), metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data["value"] = good
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	b.imported(t, p, "bad", "Imported")
}

// describeCluster is for messages of waits.
func describeCluster(ctx context.Context, b *bed, p place, name string) string {
	c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.workspace, name)
	if err != nil || c == nil {
		return "no cluster"
	}
	return stage.Conditions(c.Status.Conditions)
}
