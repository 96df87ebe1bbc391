package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// steady is how long an agent is seen to stay as it is after its upgrade.
const steady = 5 * time.Second

// upgrade lets an agent replace itself. The hub has no access to the cluster of edge-2: nobody but the agent can do it.
func (d *demo) upgrade(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runs, err := stage.WatchAgents(ctx, d.edge2, stage.SystemNamespace)
	if err != nil {
		return err
	}
	before, err := d.agentOf(ctx, runs)
	if err != nil {
		return err
	}
	registrations, err := d.registrations(ctx)
	if err != nil {
		return err
	}
	d.step("%s: its agent runs as process %s, with GENERATION %s", edge2, before.Process, before.Generation)
	clusters := d.stage.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace)
	if _, err := clusters.Patch(ctx, edge2, types.MergePatchType, []byte(`{"spec":{"redeployAgentGeneration":1}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("changing spec.redeployAgentGeneration of cluster %s/%s: %w", stage.Workspace, edge2, err)
	}
	d.step("%s: somebody raised spec.redeployAgentGeneration of its Cluster", edge2)
	after, err := d.awaitUpgraded(ctx, runs, before)
	if err != nil {
		return err
	}
	if err := d.checkUpgraded(ctx, runs, before, after, registrations); err != nil {
		return err
	}
	d.step("%s: the agent upgraded itself and is Ready: process %s after %s, GENERATION %s after %s", edge2, after.Process, before.Process, after.Generation, before.Generation)
	d.step("%s: replaced once, and with the registration that it had", edge2)
	return nil
}

// agentOf waits until one process of an agent runs, and it is what its Deployment wants.
func (d *demo) agentOf(ctx context.Context, runs *stage.AgentRuns) (stage.AgentRun, error) {
	var one stage.AgentRun
	err := stage.Await(ctx, "one agent on "+edge2, func(ctx context.Context) (bool, string, error) {
		deployment, err := d.stage.AwaitAgent(ctx, d.edge2, stage.SystemNamespace)
		if err != nil {
			return false, "", err
		}
		n, wanted := 0, stage.GenerationOf(deployment.Spec.Template.Spec)
		for _, run := range runs.All() {
			if !run.Ended {
				n, one = n+1, run
			}
		}
		done := n == 1 && one.Generation == wanted && deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.ReadyReplicas == 1
		return done, fmt.Sprintf("GENERATION %s is wanted, %+v", wanted, runs.All()), nil
	})
	return one, err
}

// awaitUpgraded waits until the agent runs with another GENERATION, and the hub knows it and is content.
func (d *demo) awaitUpgraded(ctx context.Context, runs *stage.AgentRuns, before stage.AgentRun) (stage.AgentRun, error) {
	_, err := d.stage.AwaitCluster(ctx, stage.Workspace, edge2, "another GENERATION of its agent", func(c *fleet.Cluster) bool {
		return c.Status.Agent.Generation != "" && c.Status.Agent.Generation != before.Generation && stage.Connected(c)
	})
	if err != nil {
		return stage.AgentRun{}, err
	}
	if err := d.awaitAgentBundle(ctx, stage.Workspace, edge2); err != nil {
		return stage.AgentRun{}, err
	}
	_, err = d.stage.AwaitCluster(ctx, stage.Workspace, edge2, "Ready", func(c *fleet.Cluster) bool {
		return stage.IsTrue(c.Status.Conditions, "Ready") && stage.Connected(c)
	})
	if err != nil {
		return stage.AgentRun{}, err
	}
	after, err := d.agentOf(ctx, runs)
	if err == nil && (after.Process == before.Process || after.Generation == before.Generation) {
		err = fmt.Errorf("the agent of %s says that it has upgraded itself, and is still %+v", edge2, after)
	}
	return after, err
}

// checkUpgraded watches for a while that the agent stays, and that nobody registered anew.
func (d *demo) checkUpgraded(ctx context.Context, runs *stage.AgentRuns, before, after stage.AgentRun, registrations map[types.UID]bool) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(steady):
	}
	all := runs.All()
	before.Ended = true
	if n := len(all); n < 2 || all[n-2] != before || all[n-1] != after {
		return fmt.Errorf("the agent of %s is to be replaced exactly once, %+v by %+v; its processes were %+v", edge2, before, after, all)
	}
	now, err := d.registrations(ctx)
	if err != nil {
		return err
	}
	for uid := range now {
		if !registrations[uid] {
			return fmt.Errorf("the agent of %s registered again with its upgrade", edge2)
		}
	}
	if len(now) != len(registrations) {
		return fmt.Errorf("the agent of %s lost its registration with its upgrade", edge2)
	}
	return nil
}

// registrations are those of edge-2, by their UIDs.
func (d *demo) registrations(ctx context.Context) (map[types.UID]bool, error) {
	all, err := stage.List[fleet.ClusterRegistration](ctx, d.stage.Hub, stage.Registrations, stage.Workspace)
	if err != nil {
		return nil, err
	}
	found := map[types.UID]bool{}
	for _, r := range all {
		if r.Status.ClusterName == edge2 {
			found[r.UID] = true
		}
	}
	if len(found) == 0 {
		return nil, errors.New("there is no registration of " + edge2)
	}
	return found, nil
}
