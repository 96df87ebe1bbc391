package upgrade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const revision = "deployment.kubernetes.io/revision"

// cluster is one Cluster of the hub with its agent.
type cluster struct {
	*bed
	name, agents string
	// at is where the agent is, runs what processes it had.
	at   *stage.Cluster
	runs *stage.AgentRuns
}

// newCluster makes no object; it notes the processes that the agent will have.
func (b *bed) newCluster(t *testing.T, name, agents string, at *stage.Cluster) *cluster {
	t.Helper()
	c := &cluster{bed: b, name: name, agents: agents, at: at}
	var err error
	// The watch ends with the package: later tests look at the same agents.
	c.runs, err = stage.WatchAgents(context.WithoutCancel(t.Context()), at, agents)
	require.NoError(t, err)
	return c
}

// short makes a name that fits into others.
func short(name string) string {
	if len(name) <= 20 {
		return name
	}
	return names.KeyHash(name)
}

func (c *cluster) object(ctx context.Context) (*fleet.Cluster, error) {
	object, err := stage.Get[fleet.Cluster](ctx, c.Hub, stage.Clusters, stage.Workspace, c.name)
	if err == nil && object == nil {
		err = fmt.Errorf("there is no Cluster %s", c.name)
	}
	return object, err
}

func (c *cluster) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	return c.at.Kube.AppsV1().Deployments(c.agents).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
}

// change patches the spec of the Cluster.
func (c *cluster) change(t *testing.T, spec map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	clusters := c.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace)
	_, err = clusters.Patch(t.Context(), c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// state is what an agent is at one moment.
type state struct {
	// generation is GENERATION of the Deployment, revision how often its template was changed, pods how many there were.
	generation, revision string
	pods                 int
	writes               int64
}

// look says what the agent is; settled that Deployment, pods, hub and bundle agree on it, and else what does not.
func (c *cluster) look(ctx context.Context) (s state, settled bool, seen string, err error) {
	d, err := c.deployment(ctx)
	if err != nil {
		return s, false, "", err
	}
	object, err := c.object(ctx)
	if err != nil {
		return s, false, "", err
	}
	bundle, err := stage.Get[fleet.Bundle](ctx, c.Hub, stage.Bundles, stage.Workspace, names.AgentBundle(c.name))
	if err != nil || bundle == nil {
		return s, false, "there is no bundle; " + stage.Conditions(object.Status.Conditions), err
	}
	s = state{generation: stage.GenerationOf(d.Spec.Template.Spec), revision: d.Annotations[revision], pods: len(c.pods()), writes: d.Generation}
	var running []stage.AgentRun
	for _, run := range c.runs.All() {
		if !run.Ended {
			running = append(running, run)
		}
	}
	rolled := d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 1 && d.Status.UpdatedReplicas == 1 && d.Status.ReadyReplicas == 1
	ready := bundle.Status.ObservedGeneration == bundle.Generation && bundle.Status.Summary.Ready == 1 && stage.IsTrue(bundle.Status.Conditions, "Ready")
	settled = rolled && ready && stage.Connected(object) && object.Status.Agent.Generation == s.generation && stage.GivenGeneration(bundle) == s.generation &&
		len(running) == 1 && running[0].Generation == s.generation
	seen = fmt.Sprintf("Deployment %s %+v; the bundle has %s and is ready: %t, %s; the hub knows %s; processes %+v; %s",
		s.generation, d.Status, stage.GivenGeneration(bundle), ready, stage.Conditions(bundle.Status.Conditions), object.Status.Agent.Generation, running, stage.Conditions(object.Status.Conditions))
	return s, settled, seen, nil
}

// settle waits until all agree on what the agent is.
func (c *cluster) settle(t *testing.T, what string, also func(state) bool) state {
	t.Helper()
	var s state
	await(t, "agent of "+c.name+": "+what, func(ctx context.Context) (bool, string, error) {
		now, settled, seen, err := c.look(ctx)
		s = now
		return settled && (also == nil || also(now)), seen, err
	})
	return s
}

// joined waits until the cluster is connected and its agent is a bundle of the hub.
func (c *cluster) joined(t *testing.T) state {
	t.Helper()
	return c.settle(t, "joined, and taken over by its bundle", nil)
}

// rolledOnce waits until the agent runs another generation, which it got in one step.
func (c *cluster) rolledOnce(t *testing.T, before state, what string) state {
	t.Helper()
	after := c.settle(t, what, func(now state) bool { return now.generation != before.generation })
	require.Equal(t, before.pods+1, after.pods, "%s of %s, pods: %+v", what, c.name, c.runs.All())
	require.Equal(t, next(t, before.revision), after.revision, "%s of %s, revisions", what, c.name)
	return after
}

func next(t *testing.T, revision string) string {
	t.Helper()
	var n int
	_, err := fmt.Sscan(revision, &n)
	require.NoError(t, err)
	return fmt.Sprint(n + 1)
}

// pods are the names of all pods that the agent ever had.
func (c *cluster) pods() map[string]bool {
	out := map[string]bool{}
	for _, run := range c.runs.All() {
		out[run.Pod] = true
	}
	return out
}

// processes are those that run, by their pods.
func (c *cluster) processes() map[string]*proc.Process { return c.nodes[c.at].Agents(c.agents) }

// awaitUpgraded waits for what condition AgentUpgraded says.
func (c *cluster) awaitUpgraded(t *testing.T, what string, done func(status, reason, message string) bool) {
	t.Helper()
	await(t, fmt.Sprintf("condition AgentUpgraded of %s: %s", c.name, what), func(ctx context.Context) (bool, string, error) {
		object, err := c.object(ctx)
		if err != nil {
			return false, "", err
		}
		have := stage.Condition(object.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
		if have == nil {
			return false, "none", nil
		}
		return done(string(have.Status), have.Reason, have.Message), fmt.Sprintf("%+v, %+v", have, object.Status.Agent), nil
	})
}

// leave takes the Cluster and its agent away.
func (c *cluster) leave(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, c.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Delete(ctx, c.name, metav1.DeleteOptions{}))
	require.NoError(t, c.at.Kube.CoreV1().Namespaces().Delete(ctx, c.agents, metav1.DeleteOptions{}))
}
