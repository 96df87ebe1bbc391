package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// processAgent and edgePrefix name what is measured beside the hub's processes.
	processAgent, edgePrefix = "fleet-agent", "edge "
	// clusterName is that of the cluster, and of its agent's bundle the last part.
	clusterName = "edge"
	// betweenLooks is the pause between two looks for what is timed; figures are no more exact than that.
	betweenLooks = 10 * time.Millisecond
	// calm is how long neither hub nor cluster is written to before memory is read.
	calm = 10 * time.Second
)

// Options say what to measure.
type Options struct {
	// Hub to raise; each run has a new one, and a new cluster.
	Hub bench.HubOptions
	// Sizes are how many releases there are when memory is read, besides the agent's own, in rising order.
	Sizes []int
	// Timed is how many bundles are delivered one after the other, the first of all, and timed.
	Timed int
	// Rest is how long requests are counted while nothing changes.
	Rest time.Duration
}

// bed is a hub with one cluster.
type bed struct {
	*bench.Hub
	o    Options
	edge *stage.Cluster
	// bundles is how many there are.
	bundles int
	agent   *proc.Process
	records map[string]*bench.Record
}

// Measure raises a hub and a cluster, has the cluster join, delivers bundles and removes both.
func Measure(ctx context.Context, o Options) (Run, error) {
	return bench.On(ctx, o.Hub, func(ctx context.Context, h *bench.Hub) (run Run, err error) {
		plane, err := raiseEdge(ctx, o.Hub)
		if err != nil {
			return run, err
		}
		defer func() { err = errors.Join(err, removeEdge(plane)) }()
		b := &bed{Hub: h, o: o}
		if b.edge, err = stage.Attach(plane); err != nil {
			return run, err
		}
		n, err := b.RunPods(ctx, b.edge)
		if err != nil {
			return run, err
		}
		defer func() { err = errors.Join(err, n.Stop()) }()
		b.records = map[string]*bench.Record{
			onHub: bench.NewRecord(h, bench.IsHubWrite), onCluster: bench.RecordOf(plane.AuditLog(), bench.IsHubWrite),
		}
		return b.measure(ctx, func() (*proc.Process, error) {
			for _, p := range n.Agents(stage.SystemNamespace) {
				return p, nil
			}
			return nil, errors.New("the cluster has no agent that runs")
		})
	})
}

func raiseEdge(ctx context.Context, o bench.HubOptions) (*lab.ControlPlane, error) {
	dir, err := os.MkdirTemp(lab.DefaultStateDir(o.Root), bench.NamePrefix)
	if err != nil {
		return nil, fmt.Errorf("folder of the cluster: %w", err)
	}
	plane, err := lab.Up(ctx, lab.Options{
		Name: filepath.Base(dir), Version: o.Version, Root: o.Root, Audit: true, StartedBy: bench.StartedBy, Out: o.Out,
	})
	if err != nil {
		_ = os.RemoveAll(dir)
	}
	return plane, err
}

func removeEdge(plane *lab.ControlPlane) error {
	ctx, cancel := context.WithTimeout(context.Background(), bench.CleanLimit)
	defer cancel()
	return plane.Remove(ctx)
}

func (b *bed) measure(ctx context.Context, running func() (*proc.Process, error)) (run Run, err error) {
	before, err := b.look()
	if err != nil {
		return run, err
	}
	if run.Registered, err = b.join(ctx); err != nil {
		return run, err
	}
	if err := b.awaitReady(ctx, "fleet-agent-"+clusterName); err != nil {
		return run, err
	}
	if b.agent, err = running(); err != nil {
		return run, err
	}
	var applied, ready []time.Duration
	for _, size := range b.o.Sizes {
		for b.bundles < min(size, b.o.Timed) {
			a, r, err := b.deliverTimed(ctx)
			if err != nil {
				return run, err
			}
			applied, ready = append(applied, a), append(ready, r)
		}
		if err := b.fill(ctx, size); err != nil {
			return run, err
		}
		use, err := b.atRest(ctx)
		if err != nil {
			return run, err
		}
		run.Memory = append(run.Memory, Memory{Releases: size, Usage: use})
	}
	run.Applied, run.Ready = timesOf(applied), timesOf(ready)
	after, err := b.look()
	if err != nil {
		return run, err
	}
	_, run.CoresOfOthers = after.CoresSince(before)
	run.Rest, err = b.rest(ctx)
	return run, err
}

// look is one at all processes, the cluster's and the agent too.
func (b *bed) look() (bench.Look, error) {
	l, err := b.Look()
	if err != nil {
		return l, err
	}
	pids := map[string]int{}
	for name, id := range b.edge.Processes() {
		pids[edgePrefix+name] = id.PID
	}
	if b.agent != nil {
		pids[processAgent] = b.agent.PID()
	}
	for name, pid := range pids {
		if l.Usage[name], err = bench.UsageOf(pid); err != nil {
			return l, err
		}
	}
	return l, nil
}

// join is how long it takes from the creation of a Cluster until it is registered.
func (b *bed) join(ctx context.Context) (float64, error) {
	b.o.Hub.Tell("the cluster joins")
	began := time.Now()
	if err := b.JoinByManager(ctx, b.edge, stage.Workspace, clusterName, nil); err != nil {
		return 0, err
	}
	err := stage.AwaitEvery(ctx, betweenLooks, "the cluster to be registered", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, b.Hub.Hub, stage.Clusters, stage.Workspace, clusterName)
		if err != nil || c == nil {
			return false, "no Cluster", err
		}
		return stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered), stage.Conditions(c.Status.Conditions), nil
	})
	return time.Since(began).Seconds(), err
}

// atRest is the agent's memory once neither side is written to any more.
func (b *bed) atRest(ctx context.Context) (bench.Usage, error) {
	for _, side := range []string{onHub, onCluster} {
		if err := b.records[side].AwaitStillness(ctx, calm); err != nil {
			return bench.Usage{}, err
		}
	}
	if !b.agent.Running() {
		return bench.Usage{}, fmt.Errorf("the agent has ended, or was replaced:\n%s", b.agent.Tail(20))
	}
	return bench.UsageOf(b.agent.PID())
}
