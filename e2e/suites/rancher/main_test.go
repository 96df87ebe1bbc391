// Package rancher_test has Rancher played before a hub (e2e/rancher): its clusters, its charts as Bundles, what its user
// interface writes, and clusters of Cluster API. A reader judges every version of every object by what Rancher would stumble
// over. GitRepo and HelmOp are not part of it.
//
// The tests share a hub, which is the local cluster too, and one other; agents are processes of a stand-in for a node.
package rancher_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// patience bounds a wait; it is many times what is expected on a quiet machine.
	patience = 4 * time.Minute
	// window is how long something is seen not to happen.
	window = 3 * time.Second
	// accountNamespace has the accounts that Rancher reaches clusters with, tokenLife is how long their tokens live.
	accountNamespace = "cattle-system"
	tokenLife        = 24 * time.Hour
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// bed is a hub with Rancher, the local cluster and one more.
type bed struct {
	*stage.Stage
	rancher *rancher.Client
	reader  *rancher.Reader
	edge    *stage.Cluster
	// local and downstream are the two as Rancher knows them.
	local, downstream rancher.Provisioned
}

var shared stage.SharedBed[bed]

// theBed is what all tests share, with both clusters joined. At the end of each, nobody may have stumbled over anything.
func theBed(t *testing.T) *bed {
	t.Helper()
	b := shared.Of(t, func() *bed { return raise(t) })
	b.ExplainFailure(t)
	t.Cleanup(func() { assert.Empty(t, b.reader.Findings(), "what Rancher or its user interface stumbles over") })
	b.join(t, b.downstream)
	return b
}

// join has Rancher write a cluster, and waits until its agent is connected.
func (b *bed) join(t *testing.T, p rancher.Provisioned) *fleet.Cluster {
	t.Helper()
	ctx := stage.Until(t, patience)
	require.NoError(t, b.rancher.WriteCluster(ctx, p))
	c, err := b.AwaitConnected(ctx, p.Workspace, p.Name)
	require.NoError(t, err)
	return c
}

// raise installs the hub as Rancher does at its first start, when it knows no address, and again when it does.
func raise(t *testing.T) *bed {
	t.Helper()
	planes := stage.SharedClusters(t, stage.SharedPlane{Name: "hub"}, stage.SharedPlane{Name: "edge"})
	s, err := stage.NewForSuite(planes[0].ControlPlane)
	require.NoError(t, err)
	b := &bed{
		Stage: s, edge: planes[1],
		local: rancher.Provisioned{Name: rancher.LocalName, Namespace: stage.LocalWorkspace, Workspace: stage.LocalWorkspace, Management: "local"},
		downstream: rancher.Provisioned{
			Name: "edge-1", Namespace: stage.Workspace, Workspace: stage.Workspace, Management: "c-m-7x2kq", Labels: map[string]string{"env": "prod"},
		},
	}
	b.Env = stage.Election(20*time.Second, 15*time.Second, time.Second)
	ctx := stage.Until(t, 2*patience)
	require.NoError(t, b.InstallHub(ctx, firstValues()))
	_, err = b.StartController(ctx)
	require.NoError(t, err)
	for _, c := range []*stage.Cluster{b.Hub, b.edge} {
		_, err = b.RunPods(ctx, c)
		require.NoError(t, err)
		b.prepare(t, c)
	}
	b.rancher, err = rancher.New(b.Hub)
	require.NoError(t, err)
	b.reader, err = b.rancher.Watch(context.WithoutCancel(t.Context())) // it reads until the package ends
	require.NoError(t, err)
	b.firstClusters(t)
	return b
}

// firstValues are those of Rancher's first start, and a heartbeat that is fast enough for a test.
func firstValues() map[string]any {
	return map[string]any{
		"apiServerURL": "", "apiServerCA": "", "agentTLSMode": "strict", "agentHeartbeatInterval": "10s",
		"bootstrap":   map[string]any{"enabled": false, "agentNamespace": stage.LocalAgentNamespace},
		"gitops":      map[string]any{"enabled": true},
		"global":      map[string]any{"cattle": map[string]any{"systemDefaultRegistry": "", "imagePullSecrets": nil}},
		"tolerations": []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}},
	}
}

// laterValues are those once Rancher knows its address.
func (b *bed) laterValues() map[string]any {
	values := firstValues()
	values["apiServerURL"], values["apiServerCA"] = b.HubURL, string(b.HubCA)
	return values
}

// firstClusters joins the local cluster, whose secret comes after the Cluster and whose address comes last of all, and the
// other one, which has to wait for the hub's address.
func (b *bed) firstClusters(t *testing.T) {
	t.Helper()
	ctx := stage.Until(t, 2*patience)
	for _, workspace := range []string{stage.LocalWorkspace, stage.Workspace} {
		require.NoError(t, b.EnsureNamespace(ctx, workspace))
	}
	require.NoError(t, b.rancher.WriteCluster(ctx, b.local))
	require.NoError(t, b.rancher.WriteKubeconfig(ctx, b.local, b.access(t, b.Hub, "rancher-1"), nil))
	require.NoError(t, b.rancher.WriteKubeconfig(ctx, b.downstream, b.access(t, b.edge, "rancher-1"), nil))
	require.NoError(t, b.rancher.WriteCluster(ctx, b.downstream))
	for _, p := range []rancher.Provisioned{b.local, b.downstream} {
		_, err := b.AwaitCluster(ctx, p.Workspace, p.Name, "it waits for an address", func(c *fleet.Cluster) bool {
			imported := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
			return imported != nil && imported.Reason == "NoServerURL"
		})
		require.NoError(t, err)
	}
	require.NoError(t, b.rancher.AddLocalAddress(ctx, b.local, b.HubURL, b.HubCA))
	_, err := b.AwaitConnected(ctx, b.local.Workspace, b.local.Name)
	require.NoError(t, err)
	require.NoError(t, b.InstallHub(ctx, b.laterValues()))
	_, err = b.AwaitConnected(ctx, b.downstream.Workspace, b.downstream.Name)
	require.NoError(t, err)
}

// prepare makes the accounts that Rancher reaches a cluster with.
func (b *bed) prepare(t *testing.T, c *stage.Cluster) {
	t.Helper()
	ctx := stage.Until(t, patience)
	_, err := c.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: accountNamespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, name := range []string{"rancher-1", "rancher-2"} {
		_, err := c.Kube.CoreV1().ServiceAccounts(accountNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, c.MayDoAll(ctx, accountNamespace, name))
	}
}

// access is how Rancher reaches a cluster, by one of its accounts.
func (b *bed) access(t *testing.T, c *stage.Cluster, account string) rancher.Access {
	t.Helper()
	kubeconfig, err := lab.ServiceAccountKubeconfig(t.Context(), c.Config, accountNamespace, account, tokenLife, c.URL, c.CA())
	require.NoError(t, err)
	return rancher.Access{Server: kubeconfig.Server, CA: kubeconfig.CA, Token: kubeconfig.Token}
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
