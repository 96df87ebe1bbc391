package cases

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// kubeconfigOfClient is a kubeconfig with a client certificate, issued to a user for some time. The lab lets certificates
// begin an hour ago.
func (b *bed) kubeconfigOfClient(t *testing.T, user string, life time.Duration) []byte {
	t.Helper()
	var pair certs.Pair
	var err error
	pair.Cert, err = os.ReadFile(filepath.Join(b.edge.Dir, "certs", "client-ca.crt"))
	require.NoError(t, err)
	pair.Key, err = os.ReadFile(filepath.Join(b.edge.Dir, "certs", "client-ca.key"))
	require.NoError(t, err)
	authority, err := certs.ParseAuthority(pair)
	require.NoError(t, err)
	client, err := authority.Client(user, life, "system:masters")
	require.NoError(t, err)
	kubeconfig, err := lab.Kubeconfig{Name: "edge", Server: b.edge.URL, CA: b.edge.CA(), ClientCert: client.Cert, ClientKey: client.Key}.Bytes()
	require.NoError(t, err)
	return kubeconfig
}

// replaceKubeconfig puts another kubeconfig into the secret of a cluster.
func (b *bed) replaceKubeconfig(t *testing.T, p place, kubeconfig []byte) {
	t.Helper()
	secrets := b.Hub.Kube.CoreV1().Secrets(p.workspace)
	secret, err := secrets.Get(t.Context(), kubeconfigOf("edge"), metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data["value"] = kubeconfig
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// valid waits for condition CredentialValid with a reason.
func (b *bed) valid(t *testing.T, p place, reason string) *fleet.Cluster {
	t.Helper()
	cluster, err := b.AwaitCluster(until(t), p.workspace, "edge", "CredentialValid with reason "+reason, func(c *fleet.Cluster) bool {
		condition := stage.Condition(c.Status.Conditions, fleet.ClusterConditionCredentialValid)
		return condition != nil && condition.Reason == reason
	})
	require.NoError(t, err)
	return cluster
}

// T11: the certificate in the kubeconfig ends. The Cluster says so while a fifth of its life is left, until another is in
// the secret, with which the next import goes.
func TestACertificateThatEndsSoonIsToldAndItsSuccessorUsed(t *testing.T) {
	b, p := shared(t), newPlace()
	b.workspace(t, p.workspace)
	b.writeKubeconfig(t, p.workspace, "edge")
	// 75 minutes and a half in all, of which a quarter of an hour and a half minute are left: the fifth begins 24 s from now.
	const life = 15*time.Minute + 30*time.Second
	ends := time.Now().Add(life)
	b.replaceKubeconfig(t, p, b.kubeconfigOfClient(t, "edge-before", life))
	b.writeCluster(t, p, "edge")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")

	cluster := b.valid(t, p, "ExpiresSoon")
	condition := stage.Condition(cluster.Status.Conditions, fleet.ClusterConditionCredentialValid)
	require.True(t, stage.IsTrue(cluster.Status.Conditions, fleet.ClusterConditionCredentialValid))
	require.Contains(t, condition.Message, p.workspace+"/"+kubeconfigOf("edge"))
	require.NotNil(t, cluster.Status.Credential)
	require.NotNil(t, cluster.Status.Credential.Expires, "the agent's own")
	require.WithinDuration(t, ends, cluster.Status.Credential.KubeconfigExpires.Time, patience)
	require.NotNil(t, cluster.Status.Credential.KubeconfigCAExpires)
	require.NotNil(t, cluster.Status.Credential.HubCAExpires)
	quiet(t, b.Hub, "what was said is not said again", count.Key.Write)

	b.replaceKubeconfig(t, p, b.kubeconfigOfClient(t, "edge-after", 24*time.Hour))
	cluster = b.valid(t, p, "Valid")
	require.Empty(t, stage.Condition(cluster.Status.Conditions, fleet.ClusterConditionCredentialValid).Message)

	before := b.requestsSoFar(t)
	redeploy(t, b, p)
	cluster, err := b.AwaitCluster(until(t), p.workspace, "edge", "the next import", func(c *fleet.Cluster) bool {
		return c.Status.AgentDeployedGeneration != nil && *c.Status.AgentDeployedGeneration == 1
	})
	require.NoError(t, err)
	require.True(t, cluster.Status.Credential.KubeconfigExpires.After(ends.Add(time.Hour)))
	seen := b.requestsSoFar(t).Sub(before).Where(count.By("fleet-controller"))
	require.Zero(t, seen.Where(func(k count.Key) bool { return k.User == "edge-before" }).Total(), "%s", seen)
	require.NotZero(t, seen.Where(func(k count.Key) bool { return k.User == "edge-after" }).Writes().Total(), "%s", seen)
}
