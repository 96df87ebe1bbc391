package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// limit bounds one run; it is many times what one takes.
	limit = 30 * time.Minute
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

func (o Options) tell(format string, args ...any) {
	var out io.Writer = io.Discard
	if o.Hub.Out != nil {
		out = o.Hub.Out
	}
	fmt.Fprintf(out, "fanout: "+format+"\n", args...)
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
	// Writes are those, one line a kind.
	Writes string `json:"writes"`
	// Use is what the processes used from the first create until the hub was quiet, and their memory then.
	Use map[string]bench.Usage `json:"use"`
	// CoresOfOthers is how many were busy with nothing of this until the last create.
	CoresOfOthers float64 `json:"coresOfOthers"`
}

// Measure raises a hub with clusters, creates the bundles and removes the hub.
func Measure(ctx context.Context, o Options) (run Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o.tell("starting a new hub")
	h, err := bench.RaiseHub(ctx, o.Hub)
	if err != nil {
		return Run{}, err
	}
	defer func() {
		if err != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
			err = fmt.Errorf("%w\n%s", err, h.Explain())
		}
		o.tell("removing the hub")
		err = errors.Join(err, h.Remove())
	}()
	o.tell("%d clusters", o.Clusters)
	if err := makeClusters(ctx, h, o.Clusters); err != nil {
		return Run{}, err
	}
	r := newRecord(h)
	if err := r.awaitStillness(ctx); err != nil {
		return Run{}, err
	}
	return measureOn(ctx, h, r, o)
}

func measureOn(ctx context.Context, h *bench.Hub, r *record, o Options) (Run, error) {
	want := o.Clusters * o.Bundles
	r.forget()
	before, err := look(h)
	if err != nil {
		return Run{}, err
	}
	o.tell("%d bundles for all of them", o.Bundles)
	if err := each(ctx, o.Bundles, func(ctx context.Context, i int) error {
		return stage.Create(ctx, h.Hub, stage.Bundles, "Bundle", stage.Workspace, bundleOf(i))
	}); err != nil {
		return Run{}, err
	}
	if err := r.awaitDeployments(ctx, want); err != nil {
		return Run{}, err
	}
	busy, err := look(h)
	if err != nil {
		return Run{}, err
	}
	o.tell("all %d deployments are created; waiting until the hub is quiet", want)
	if err := r.awaitStillness(ctx); err != nil {
		return Run{}, err
	}
	after, err := look(h)
	if err != nil {
		return Run{}, err
	}
	run := r.summarize(o)
	run.Use = after.usedSince(before)
	run.CoresOfOthers = busy.othersSince(before)
	return run, nil
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
	return stage.AwaitEvery(ctx, betweenLooks, "the namespaces of all clusters", func(ctx context.Context) (bool, string, error) {
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
