// Package upgrade_test lets agents be upgraded by their hub: all of them processes with the rights of their charts, each as
// its Deployment says, by a stand-in for a node (e2e/node). Pods are made, replaced and kept by the control planes' own
// controller managers.
//
// The tests share a hub and one cluster, on which there are several agents, each in a namespace of its own and with a
// Cluster of its own. An agent that joins by itself has its chart, of which one fits on a cluster: the second is on the
// hub's.
package upgrade_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// patience bounds a wait; it is many times what is expected on a quiet machine.
	patience = 4 * time.Minute
	// window is how long something is seen not to happen.
	window = 5 * time.Second
	// heartbeat is short enough for a test to see silence, and long enough for a busy machine not to be silent.
	heartbeat = "10s"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// bed is a hub with its clusters.
type bed struct {
	*stage.Stage
	edge *stage.Cluster
	// nodes are where the agents of the two run.
	nodes map[*stage.Cluster]*node.Node
	// three have joined in the three ways there are.
	three []*cluster
}

var shared stage.SharedBed[bed]

// theBed is what all tests share. Where a test fails, it shows the ends of the logs.
func theBed(t *testing.T) *bed {
	t.Helper()
	b := shared.Of(t, func() *bed { return raise(t) })
	b.ExplainFailure(t)
	return b
}

func raise(t *testing.T) *bed {
	t.Helper()
	planes := stage.SharedClusters(t, stage.SharedPlane{Name: "hub"}, stage.SharedPlane{Name: "edge"})
	s, err := stage.NewForSuite(planes[0].ControlPlane)
	require.NoError(t, err)
	b := &bed{Stage: s, edge: planes[1], nodes: map[*stage.Cluster]*node.Node{}}
	// A new pod takes over within a second of the old one's end; who crashes is waited for.
	b.Env = stage.Election(20*time.Second, 15*time.Second, time.Second)
	ctx := stage.Until(t, 2*patience)
	require.NoError(t, b.InstallHub(ctx, map[string]any{
		"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false},
		"agentUpgrade": map[string]any{"maxUnavailable": 1, "soak": "0s"},
	}))
	_, err = b.StartController(ctx)
	require.NoError(t, err)
	for _, c := range []*stage.Cluster{b.edge, b.Hub} {
		b.nodes[c], err = b.RunPods(ctx, c)
		require.NoError(t, err)
	}
	b.three = []*cluster{b.byManager(t, "managed", nil), b.byHand(t, "by-hand"), b.byToken(t, "by-token")}
	for _, c := range b.three {
		c.joined(t)
	}
	return b
}

// byManager has the hub import an agent, whose Cluster is the given one with what every Cluster needs.
func (b *bed) byManager(t *testing.T, name string, change func(*fleet.Cluster, map[string][]byte)) *cluster {
	t.Helper()
	c := b.newCluster(t, name, "agents-"+short(name), b.edge)
	secret, err := stage.KubeconfigSecret(b.edge, stage.Workspace, "kubeconfig-"+short(name))
	require.NoError(t, err)
	require.NoError(t, b.EnsureNamespace(t.Context(), stage.Workspace))
	object := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: stage.Workspace, Name: name}}
	object.Spec.KubeConfigSecret, object.Spec.AgentNamespace = secret.Name, c.agents
	if change != nil {
		change(object, secret.Data)
	}
	_, err = b.Hub.Kube.CoreV1().Secrets(stage.Workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", stage.Workspace, object))
	return c
}

// byHand joins a cluster by itself for which somebody has made the Cluster before.
func (b *bed) byHand(t *testing.T, name string) *cluster {
	t.Helper()
	c := b.newCluster(t, name, "agents-"+name, b.Hub)
	require.NoError(t, b.EnsureNamespace(t.Context(), stage.Workspace))
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.Workspace, Name: name}, Spec: fleet.ClusterSpec{ClientID: "client-" + name},
	}))
	c.installChart(t, fleet.ClusterRegistrationTokenSpec{}, map[string]any{"clientID": "client-" + name})
	return c
}

// byToken joins a cluster by itself that the hub has not heard of.
func (b *bed) byToken(t *testing.T, name string) *cluster {
	t.Helper()
	c := b.newCluster(t, name, "agents-"+name, b.edge)
	c.installChart(t, fleet.ClusterRegistrationTokenSpec{ClusterName: name}, map[string]any{"extraEnv": []any{map[string]any{"name": "OF_THE_CHART", "value": "kept"}}})
	return c
}

func (c *cluster) installChart(t *testing.T, token fleet.ClusterRegistrationTokenSpec, more map[string]any) {
	t.Helper()
	ctx := stage.Until(t, patience)
	token.TTL = &metav1.Duration{Duration: time.Hour}
	values, err := c.NewToken(ctx, stage.Workspace, "token-"+c.name, token)
	require.NoError(t, err)
	values["agentTLSMode"], values["agentHeartbeatInterval"] = "strict", heartbeat
	values["internal"] = map[string]any{"systemNamespace": c.agents}
	for key, value := range more {
		values[key] = value
	}
	require.NoError(t, c.Install(ctx, c.at, "fleet-agent", "fleet-agent", c.agents, values))
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done func(context.Context) (bool, string, error)) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
