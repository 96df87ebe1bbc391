package registration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// lives is the workspace of clusters that are deleted and made again under the same name.
const lives = "lives"

// life is one of them.
type life struct {
	name, agentNamespace string
	join                 func(*testing.T)
	agent                *proc.Process
	// earlier are the UIDs of what it had in earlier lives.
	earlier []types.UID
}

// E11, O2: deleting a Cluster leaves nothing of it on the hub and takes nothing away on the cluster, whether its agent
// runs, never came, or cannot be reached; and the next cluster of the same name starts from nothing.
func TestADeletedClusterLeavesNothingAndItsNameStartsAgain(t *testing.T) {
	y := ofTheYard(t)
	y.workspace(t, lives)
	all := []*life{y.importedLife(t), y.ownLife(t)}
	dead := y.deadLives(t)
	before := snapshot(t, y.Hub)

	rounds := reduced(t, "rounds:", 3, 20)
	for round := range rounds - 1 {
		y.live(t, all, dead)
		downstream := snapshot(t, y.edge)
		y.die(t, all, dead)
		if round%2 == 0 {
			y.awaitGone(t, before)
		} // else the next life begins while the last one is still ending
		require.Empty(t, stage.Lines(downstream.Without(snapshot(t, y.edge))), "objects that went on the cluster")
	}

	// In the last round no agent runs any more, and the API server of their cluster is down.
	y.live(t, all, dead)
	for _, l := range all {
		require.NoError(t, l.agent.Kill())
	}
	require.NoError(t, y.edge.StopAPIServer(until(t, patience)))
	y.die(t, all, dead)
	y.awaitGone(t, before)
	require.NoError(t, y.edge.StartAPIServer(until(t, patience)))
}

// importedLife is a cluster that the hub imports.
func (y *yard) importedLife(t *testing.T) *life {
	t.Helper()
	l := &life{name: "imported", agentNamespace: "imported-system"}
	y.kubeconfig(t, l.name, y.edge.URL)
	l.join = func(t *testing.T) { y.writeCluster(t, lives, l.name, l.agentNamespace) }
	return l
}

// ownLife is a cluster that joins by itself.
func (y *yard) ownLife(t *testing.T) *life {
	t.Helper()
	l := &life{name: "by-itself", agentNamespace: stage.SystemNamespace}
	values, err := y.NewToken(until(t, patience), lives, "token", fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: l.name,
	})
	require.NoError(t, err)
	l.join = func(t *testing.T) {
		t.Helper()
		require.NoError(t, y.JoinByAgent(until(t, patience), y.edge, values, map[string]any{"agentHeartbeatInterval": heartbeat}))
	}
	return l
}

// deadLives are clusters that never answer: one refuses connections, one takes them and stays silent.
func (y *yard) deadLives(t *testing.T) []*life {
	t.Helper()
	silent := shim.RunTCP(t, y.edge.URL)
	require.NoError(t, silent.BlackHole())
	refusing := shim.RunTCP(t, y.edge.URL)
	refusing.Refuse()
	var dead []*life
	for name, url := range map[string]string{"silent": silent.URL(), "refusing": refusing.URL()} {
		y.kubeconfig(t, name, url)
		dead = append(dead, &life{name: name, join: func(t *testing.T) { y.writeCluster(t, lives, name, "") }})
	}
	return dead
}

// kubeconfig writes the kubeconfig secret of a Cluster, with an address for the downstream control plane.
func (y *yard) kubeconfig(t *testing.T, name, url string) {
	t.Helper()
	secret, err := stage.KubeconfigSecret(y.edge, lives, name)
	require.NoError(t, err)
	token, err := y.edge.AdminToken()
	require.NoError(t, err)
	secret.Data["value"], err = lab.Kubeconfig{Name: name, Server: url, CA: y.edge.CA(), Token: token}.Bytes()
	require.NoError(t, err)
	_, err = y.Hub.Kube.CoreV1().Secrets(lives).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

// live lets all join. Those that can are connected afterwards, each with a namespace and a registration that no earlier
// life had.
func (y *yard) live(t *testing.T, all, dead []*life) {
	t.Helper()
	for _, l := range slices.Concat(all, dead) {
		l.join(t)
	}
	for _, l := range all {
		if l.agent == nil {
			l.agent = y.agent(t, l.agentNamespace, "agent-of-"+l.name)
		}
		now := y.begun(t, l)
		for _, uid := range now {
			require.NotContains(t, l.earlier, uid, "%s has something of an earlier life", l.name)
		}
		l.earlier = append(l.earlier, now...)
		require.True(t, l.agent.Running(), "the agent of %s lives through all this", l.name)
	}
	for _, l := range dead {
		_, err := y.AwaitCluster(until(t, patience), lives, l.name, "a namespace", func(c *fleet.Cluster) bool { return c.Status.Namespace != "" })
		require.NoError(t, err)
	}
}

// begun waits until a life is connected, and returns the UIDs of what it has.
func (y *yard) begun(t *testing.T, l *life) []types.UID {
	t.Helper()
	cluster, err := y.AwaitCluster(until(t, patience), lives, l.name, "connected in a new life", func(c *fleet.Cluster) bool {
		return stage.Connected(c) && c.DeletionTimestamp == nil && !slices.Contains(l.earlier, c.UID)
	})
	require.NoError(t, err)
	namespace, err := y.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), cluster.Status.Namespace, metav1.GetOptions{})
	require.NoError(t, err)
	requests := y.requests(t, lives, l.name)
	require.Len(t, requests, 1, "registrations of %s", l.name)
	return []types.UID{cluster.UID, namespace.UID, requests[0].UID}
}

// die deletes all Clusters.
func (y *yard) die(t *testing.T, all, dead []*life) {
	t.Helper()
	for _, l := range slices.Concat(all, dead) {
		y.delete(t, lives, l.name)
	}
	for _, l := range slices.Concat(all, dead) {
		await(t, fmt.Sprintf("the end of Cluster %s/%s", lives, l.name), func(ctx context.Context) (bool, string, error) {
			c, err := stage.Get[fleet.Cluster](ctx, y.Hub, stage.Clusters, lives, l.name)
			if err != nil || c == nil {
				return c == nil, "", err
			}
			return false, stage.Conditions(c.Status.Conditions), nil
		})
	}
}
