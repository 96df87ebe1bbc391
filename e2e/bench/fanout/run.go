package fanout

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// quietAfter is how long after the last deployment the hub is to be quiet, quietFor how long it is watched from then on.
	quietAfter, quietFor = 10 * time.Second, 10 * time.Second
	// atOnce is how many requests of the driver are under way at a time.
	atOnce = 10
	// benchLabel is what the bundles target.
	benchLabel = "bench"
)

// Options say what to measure.
type Options struct {
	// Hub to raise; each run has a new one.
	Hub bench.HubOptions
	// Clusters and Bundles are how many of each there are.
	Clusters, Bundles int
}

// Run is what one run showed.
type Run struct {
	Clusters int `json:"clusters"`
	Bundles  int `json:"bundles"`
	// Rate is BundleDeployments created a second, from the first create of a Bundle to the last of a BundleDeployment.
	Rate float64 `json:"rate"`
	// Took is that time, in seconds; BusyAfter how long the hub wrote after it.
	Took      float64 `json:"took"`
	BusyAfter float64 `json:"busyAfter"`
	// WritesPerDeployment are all mutating requests by others than the driver until the hub was quiet, without Leases, Events
	// and reviews.
	WritesPerDeployment float64 `json:"writesPerDeployment"`
	// QuietWrites are those a second in ten seconds that begin ten seconds after the last deployment.
	QuietWrites float64 `json:"quietWrites"`
	// Writes and Reads are all requests by others than the driver.
	Writes []bench.Line `json:"writes"`
	Reads  []bench.Line `json:"reads"`
	// Use is what the processes used from the first create until the hub was quiet, and their memory then.
	Use map[string]bench.Usage `json:"use"`
	// CPUBound is the rate that the machine's processors would allow at what the deployments cost all processes together.
	CPUBound float64 `json:"cpuBound"`
	// CoresOfOthers is how many were busy with nothing of this until the last create.
	CoresOfOthers float64 `json:"coresOfOthers"`
}

// Measure raises a hub with clusters, creates the bundles and removes the hub.
func Measure(ctx context.Context, o Options) (Run, error) {
	return bench.On(ctx, o.Hub, func(ctx context.Context, h *bench.Hub) (Run, error) {
		o.Hub.Tell("%d clusters", o.Clusters)
		if err := makeClusters(ctx, h, o.Clusters); err != nil {
			return Run{}, err
		}
		r := bench.NewRecord(h, bench.IsHubWrite)
		if err := r.AwaitStillness(ctx, bench.Stillness); err != nil {
			return Run{}, err
		}
		return measureOn(ctx, h, r, o)
	})
}

func measureOn(ctx context.Context, h *bench.Hub, r *bench.Record, o Options) (Run, error) {
	want, known := o.Clusters*o.Bundles, len(r.Entries)
	before, err := h.Look()
	if err != nil {
		return Run{}, err
	}
	o.Hub.Tell("%d bundles for all of them", o.Bundles)
	if err := each(ctx, o.Bundles, func(ctx context.Context, i int) error {
		return stage.Create(ctx, h.Hub, stage.Bundles, "Bundle", stage.Workspace, bundleOf(i))
	}); err != nil {
		return Run{}, err
	}
	if err := awaitDeployments(ctx, r, known, want); err != nil {
		return Run{}, err
	}
	busy, err := h.Look()
	if err != nil {
		return Run{}, err
	}
	o.Hub.Tell("all %d deployments are created; waiting until the hub is quiet", want)
	if err := r.AwaitStillness(ctx, bench.Stillness); err != nil {
		return Run{}, err
	}
	after, err := h.Look()
	if err != nil {
		return Run{}, err
	}
	if err := watchQuiet(ctx, r, known); err != nil {
		return Run{}, err
	}
	run := summarize(o, r.Entries[known:])
	run.Use = after.UsedSince(before)
	cores, others := busy.CoresSince(before)
	run.CoresOfOthers = others
	run.CPUBound = bench.CPUBound(want, busy.At.Sub(before.At), cores)
	return run, nil
}

// watchQuiet reads on until the time is over in which nothing may be written.
func watchQuiet(ctx context.Context, r *bench.Record, known int) error {
	end := spanOf(r.Entries[known:]).last.Add(quietAfter + quietFor)
	return stage.AwaitEvery(ctx, bench.BetweenLooks, "the end of the time in which the hub is quiet", func(context.Context) (bool, string, error) {
		over := time.Now().After(end)
		_, err := r.Read()
		return over, "", err
	})
}

// each does something n times, some of them at once.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// makeClusters makes clusters and waits until each has its namespace.
func makeClusters(ctx context.Context, h *bench.Hub, n int) error {
	if err := h.EnsureNamespace(ctx, stage.Workspace); err != nil {
		return err
	}
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return stage.Create(ctx, h.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster-%04d", i), Labels: map[string]string{benchLabel: "yes"}},
		})
	})
	if err != nil {
		return err
	}
	return stage.AwaitEvery(ctx, bench.BetweenLooks, "the namespaces of all clusters", func(ctx context.Context) (bool, string, error) {
		clusters, err := stage.List[fleet.Cluster](ctx, h.Hub, stage.Clusters, stage.Workspace)
		have := 0
		for i := range clusters {
			if clusters[i].Status.Namespace != "" {
				have++
			}
		}
		return have == n, fmt.Sprintf("%d of %d", have, n), err
	})
}

// bundleOf is a bundle of one ConfigMap for all clusters.
func bundleOf(i int) *fleet.Bundle {
	name := fmt.Sprintf("bench-%03d", i)
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.DefaultNamespace = name
	b.Spec.Resources = []fleet.BundleResource{{
		Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {text: some text}\n",
	}}
	b.Spec.Targets = []fleet.BundleTarget{{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{benchLabel: "yes"}}}}
	return b
}
