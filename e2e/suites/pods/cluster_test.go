package pods_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// cluster is a Cluster of the hub, and where its agent is.
type cluster struct {
	*bed
	workspace, name, agents string
	at                      *site
}

// clusters are the three, by the way in which they joined: the hub's own, by its kubeconfig, by a token.
func (b *bed) clusters() []*cluster {
	return []*cluster{b.local(), b.imported(), b.joined()}
}

func (b *bed) local() *cluster {
	return &cluster{bed: b, workspace: stage.LocalWorkspace, name: names.LocalCluster, agents: stage.LocalAgentNamespace, at: b.hub}
}

func (b *bed) imported() *cluster {
	return &cluster{bed: b, workspace: stage.Workspace, name: "edge", agents: stage.SystemNamespace, at: b.edge}
}

func (b *bed) joined() *cluster {
	return &cluster{bed: b, workspace: stage.Workspace, name: "remote", agents: stage.SystemNamespace, at: b.remote}
}

// object is the Cluster.
func (c *cluster) object(ctx context.Context) (*fleet.Cluster, error) {
	object, err := stage.Get[fleet.Cluster](ctx, c.hub.Cluster, stage.Clusters, c.workspace, c.name)
	if err == nil && object == nil {
		err = fmt.Errorf("there is no Cluster %s/%s", c.workspace, c.name)
	}
	return object, err
}

func (c *cluster) mustObject(t *testing.T) *fleet.Cluster {
	t.Helper()
	object, err := c.object(t.Context())
	require.NoError(t, err)
	return object
}

// awaitObject waits until the Cluster is as done wants it.
func (c *cluster) awaitObject(t *testing.T, what string, done func(*fleet.Cluster) bool) *fleet.Cluster {
	t.Helper()
	var found *fleet.Cluster
	await(t, fmt.Sprintf("cluster %s: %s", c.name, what), func(ctx context.Context) (bool, string, error) {
		object, err := c.object(ctx)
		if err != nil {
			return false, "", err
		}
		found = object
		return done(object), fmt.Sprintf("%s; agent %+v", stage.Conditions(object.Status.Conditions), object.Status.Agent), nil
	})
	return found
}

// connected waits until the cluster is registered, connected, and its agent what its bundle says.
func (c *cluster) connected(t *testing.T) {
	t.Helper()
	c.settle(t, "connected, with an agent that its bundle made", func(state) bool { return true })
}

func (c *cluster) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	return c.at.Kube.AppsV1().Deployments(c.agents).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
}

// state is what an agent is at one moment.
type state struct {
	generation, revision string
	pod                  corev1.Pod
}

// look says what the agent is, and whether Deployment, pod and hub agree on it.
func (c *cluster) look(ctx context.Context) (s state, settled bool, seen string, err error) {
	d, err := c.deployment(ctx)
	if err != nil {
		return s, false, "", err
	}
	object, err := c.object(ctx)
	if err != nil {
		return s, false, "", err
	}
	bundle, err := stage.Get[fleet.Bundle](ctx, c.hub.Cluster, stage.Bundles, c.workspace, names.AgentBundle(c.name))
	if err != nil || bundle == nil {
		return s, false, "there is no bundle; " + stage.Conditions(object.Status.Conditions), err
	}
	pods, err := c.at.pods(ctx, c.agents, agentPods)
	if err != nil {
		return s, false, "", err
	}
	s = state{generation: stage.GenerationOf(d.Spec.Template.Spec), revision: d.Annotations["deployment.kubernetes.io/revision"]}
	if len(pods) == 1 {
		s.pod = pods[0]
	}
	rolled := d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 1 && d.Status.UpdatedReplicas == 1 && d.Status.ReadyReplicas == 1
	ready := bundle.Status.ObservedGeneration == bundle.Generation && bundle.Status.Summary.Ready == 1 && stage.IsTrue(bundle.Status.Conditions, "Ready")
	settled = rolled && ready && len(pods) == 1 && isReady(s.pod) && stage.GenerationOf(s.pod.Spec) == s.generation &&
		stage.Connected(object) && object.Status.Agent.Generation == s.generation && stage.GivenGeneration(bundle) == s.generation
	seen = fmt.Sprintf("Deployment %s %+v; %s; the bundle has %s and is ready: %t %s; the hub knows %s; %s", s.generation, d.Status, describe(pods),
		stage.GivenGeneration(bundle), ready, stage.Conditions(bundle.Status.Conditions), object.Status.Agent.Generation, stage.Conditions(object.Status.Conditions))
	return s, settled, seen, nil
}

// settle waits until all agree on what the agent is, and that is what also wants.
func (c *cluster) settle(t *testing.T, what string, also func(state) bool) state {
	t.Helper()
	var s state
	await(t, "agent of "+c.name+": "+what, func(ctx context.Context) (bool, string, error) {
		now, settled, seen, err := c.look(ctx)
		s = now
		return settled && also(now), seen, err
	})
	return s
}

// rolledOnce waits until the agent is another, which it became in one step.
func (c *cluster) rolledOnce(t *testing.T, before state, what string) state {
	t.Helper()
	after := c.settle(t, what, func(now state) bool { return now.generation != before.generation })
	var from, to int
	_, err := fmt.Sscan(before.revision+" "+after.revision, &from, &to)
	require.NoError(t, err)
	require.Equal(t, from+1, to, "%s: the pod template of %s was changed once", what, c.name)
	require.Zero(t, restarts(after.pod))
	return after
}

// now is what the agent is once all agree.
func (c *cluster) now(t *testing.T) state {
	t.Helper()
	return c.settle(t, "settled", func(state) bool { return true })
}

// change patches the spec of the Cluster.
func (c *cluster) change(t *testing.T, spec map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	_, err = c.hub.Dynamic.Resource(stage.Clusters).Namespace(c.workspace).Patch(t.Context(), c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// awaitUpgraded waits for what condition AgentUpgraded says.
func (c *cluster) awaitUpgraded(t *testing.T, status, reason string) {
	t.Helper()
	c.awaitObject(t, "AgentUpgraded is "+status+" "+reason, func(object *fleet.Cluster) bool {
		have := stage.Condition(object.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
		return have != nil && string(have.Status) == status && (reason == "" || have.Reason == reason)
	})
}
