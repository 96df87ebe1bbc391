package registration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// The clusters of the world, by the names of their Cluster objects.
const (
	local = "local"
	edge1 = "edge-1"
	edge2 = "edge-2"
)

// world is a hub that three clusters have joined: itself, edge-1 by the hub's import, edge-2 by itself. Tests leave it as
// they found it.
type world struct {
	*bed
	edge1, edge2 *stage.Cluster
	agents       map[string]*proc.Process
	// before are the objects of each control plane before anything of Fleet was there.
	before map[string]stage.Snapshot
}

var (
	theWorld  *world
	worldOnce sync.Once
)

// ofTheWorld starts the world, or returns the one that runs.
func ofTheWorld(t *testing.T) *world {
	t.Helper()
	worldOnce.Do(func() {
		planes := clusters(t, audited("hub"), audited("edge-1"), audited("edge-2"))
		w := &world{edge1: planes[1], edge2: planes[2], agents: map[string]*proc.Process{}, before: map[string]stage.Snapshot{}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		require.NoError(t, w.start(ctx, planes[0]))
		theWorld = w
	})
	require.NotNil(t, theWorld, "the hub and its three clusters did not come up; see the first test that needed them")
	theWorld.explain(t)
	return theWorld
}

func (w *world) start(ctx context.Context, hub *stage.Cluster) (err error) {
	if err := w.lookBefore(ctx, hub, w.edge1, w.edge2); err != nil {
		return err
	}
	if w.bed, err = newBed(ctx, hub, nil); err != nil {
		return err
	}
	if w.controller, err = w.StartController(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	joins, joinCtx := errgroup.WithContext(ctx)
	for name, join := range map[string]func(context.Context) (*proc.Process, error){local: w.joinLocal, edge1: w.joinEdge1, edge2: w.joinEdge2} {
		joins.Go(func() error {
			agent, err := join(joinCtx)
			mu.Lock()
			defer mu.Unlock()
			w.agents[name] = agent
			return err
		})
	}
	if err := joins.Wait(); err != nil {
		return err
	}
	return w.awaitRest(ctx)
}

// awaitRest waits for what follows a join: the agent's bundle, and the end of what carried its credential.
func (w *world) awaitRest(ctx context.Context) error {
	return stage.Await(ctx, "the hub to have cleared up after the joins", func(ctx context.Context) (bool, string, error) {
		requests, err := stage.List[fleet.ClusterRegistration](ctx, w.Hub, stage.Registrations, "")
		if err != nil {
			return false, "", err
		}
		for _, r := range requests {
			ready := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
			if ready == nil || ready.Reason != "InUse" {
				return false, r.Name + stage.Conditions(r.Status.Conditions), nil
			}
		}
		bundles, err := stage.List[fleet.Bundle](ctx, w.Hub, stage.Bundles, "")
		return len(requests) == 3 && len(bundles) == 3, fmt.Sprintf("%d requests, %d bundles", len(requests), len(bundles)), err
	})
}

func (w *world) lookBefore(ctx context.Context, planes ...*stage.Cluster) error {
	var mu sync.Mutex
	looks, ctx := errgroup.WithContext(ctx)
	for _, c := range planes {
		looks.Go(func() error {
			s, err := c.Settled(ctx, stillness)
			mu.Lock()
			defer mu.Unlock()
			w.before[c.Name] = s
			return err
		})
	}
	return looks.Wait()
}

func (w *world) joinLocal(ctx context.Context) (*proc.Process, error) {
	agent, err := w.StartAgent(ctx, w.Hub, stage.LocalAgentNamespace, "agent-local-0")
	if err != nil {
		return nil, err
	}
	_, err = w.AwaitConnected(ctx, stage.LocalWorkspace, local)
	return agent, err
}

func (w *world) joinEdge1(ctx context.Context) (*proc.Process, error) {
	if err := w.JoinByManager(ctx, w.edge1, stage.Workspace, edge1, nil); err != nil {
		return nil, err
	}
	agent, err := w.StartAgent(ctx, w.edge1, stage.SystemNamespace, "agent-1-0")
	if err != nil {
		return nil, err
	}
	_, err = w.AwaitConnected(ctx, stage.Workspace, edge1)
	return agent, err
}

func (w *world) joinEdge2(ctx context.Context) (*proc.Process, error) {
	values, err := w.NewToken(ctx, stage.Workspace, edge2, fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: edge2,
	})
	if err != nil {
		return nil, err
	}
	if err := w.JoinByAgent(ctx, w.edge2, values, map[string]any{"agentHeartbeatInterval": heartbeat}); err != nil {
		return nil, err
	}
	agent, err := w.StartAgent(ctx, w.edge2, stage.SystemNamespace, "agent-2-0")
	if err != nil {
		return nil, err
	}
	_, err = w.AwaitConnected(ctx, stage.Workspace, edge2)
	return agent, err
}

// cluster is the control plane of a cluster of the world, its workspace and the namespace of its agent.
func (w *world) cluster(name string) (plane *stage.Cluster, workspace, agentNamespace string) {
	switch name {
	case edge1:
		return w.edge1, stage.Workspace, stage.SystemNamespace
	case edge2:
		return w.edge2, stage.Workspace, stage.SystemNamespace
	}
	return w.Hub, stage.LocalWorkspace, stage.LocalAgentNamespace
}

// leaveAsFound waits at the end of the test until the hub has exactly the objects that it has now.
func (b *bed) leaveAsFound(t *testing.T) {
	t.Helper()
	found := snapshot(t, b.Hub)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), leaving)
		defer cancel()
		require.NoError(t, b.Hub.AwaitSame(ctx, found, recordOfHelm))
	})
}

// recordOfHelm is what Helm keeps of each upgrade of a release.
func recordOfHelm(key stage.Key) bool {
	return key.Kind == "Secret" && strings.HasPrefix(key.Name, "sh.helm.release.v1.")
}
