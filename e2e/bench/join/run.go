package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	tokenName = "bench"
	// warmUps are joins before the measured ones: the first on a new hub pays for what is done once.
	warmUps = 2
	// briefStillness is how long the hub has been quiet between joins that come one after the other.
	briefStillness = 500 * time.Millisecond
)

// Options say what to measure.
type Options struct {
	// Hub to raise; each run has a new one.
	Hub bench.HubOptions
	// N agents join.
	N int
	// Rate is how many start in a second; all at once if 0.
	Rate float64
	// FloodRate is how many requests that nobody grants come in a second while they do.
	FloodRate float64
	// Singles is how often a run of one agent is repeated on its hub, one join after the other.
	Singles int
	// Profile, if set, is called with the hub when the joins begin, beside them.
	Profile func(ctx context.Context, h *bench.Hub) error
}

// Run is what one run showed.
type Run struct {
	// Joins is how many joins there were.
	Joins int `json:"joins"`
	// Rate is joins a second, from the first create to the last authenticated list.
	Rate float64 `json:"rate"`
	// P50, P99 and Max are of the joins' durations, in seconds.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// BusyAfter is how long the hub wrote after the last first heartbeat, in seconds.
	BusyAfter float64 `json:"busyAfter"`
	// Looks is how often an agent asked for its credential, on average; Tries how often it sent its request.
	Looks float64 `json:"looks"`
	Tries float64 `json:"tries"`
	Traffic
	// Use is what the processes used from the first create until the hub was quiet, and their memory then.
	Use map[string]bench.Usage `json:"use"`
	// Cores is how many processors they kept busy from the first create to the last heartbeat.
	Cores map[string]float64 `json:"cores"`
	// CPUBound is the rate that the machine's processors would allow at what the joins cost them: what an undisturbed run
	// could come to at best.
	CPUBound float64 `json:"cpuBound"`
	// CoresOfOthers is how many were busy with nothing of this in that time: where it is not small, the figures are not
	// those of this machine.
	CoresOfOthers float64 `json:"coresOfOthers"`
	// Flood is what came in between.
	Flood *Flood `json:"flood,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Trace is the join with the median duration.
	Trace []TraceLine `json:"trace,omitempty"`
}

// Measure raises a hub, lets the agents join and removes the hub.
func Measure(ctx context.Context, o Options) (Run, error) {
	return bench.On(ctx, o.Hub, func(ctx context.Context, h *bench.Hub) (Run, error) {
		values, err := h.NewToken(ctx, stage.Workspace, tokenName, fleet.ClusterRegistrationTokenSpec{
			TTL: &metav1.Duration{Duration: 2 * bench.Limit},
		})
		if err != nil {
			return Run{}, err
		}
		order, err := orderOf(values)
		if err != nil {
			return Run{}, err
		}
		return measureOn(ctx, h, order, o)
	})
}

func orderOf(values map[string]any) (order, error) {
	text := func(key string) string { s, _ := values[key].(string); return s }
	b := registration.Bootstrap{
		APIServerURL: text(registration.KeyAPIServerURL), APIServerCA: []byte(text(registration.KeyAPIServerCA)),
		ClusterNamespace: text(registration.KeyClusterNamespace), Token: text(registration.KeyToken),
		TokenName: text(registration.KeyTokenName), SystemRegistrationNamespace: text(registration.KeySystemRegistrationNamespace),
	}
	if err := b.Validate(); err != nil {
		return order{}, fmt.Errorf("values of the registration token: %w", err)
	}
	return newOrder(b)
}

func measureOn(ctx context.Context, h *bench.Hub, o order, options Options) (Run, error) {
	m := measurement{hub: h, order: o, record: bench.NewRecord(h, isHubWrite)}
	options.Hub.Tell("%d joins to warm it up", warmUps)
	if err := m.warmUp(ctx); err != nil {
		return Run{}, err
	}
	before, err := m.look(ctx)
	if err != nil {
		return Run{}, err
	}
	var profile errgroup.Group
	if options.Profile != nil {
		profile.Go(func() error { return options.Profile(ctx, h) })
	}
	options.Hub.Tell("%s", options.plan())
	outcomes, flooded, err := m.joinsInFlood(ctx, options)
	if err != nil {
		return Run{}, err
	}
	busy, err := m.look(ctx)
	if err != nil {
		return Run{}, err
	}
	options.Hub.Tell("all have joined; waiting until the hub is quiet")
	if err := m.awaitQuiet(ctx, warmUps+len(outcomes), bench.Stillness); err != nil {
		return Run{}, err
	}
	after, err := m.look(ctx)
	if err != nil {
		return Run{}, err
	}
	run := summarize(outcomes, m.record.Entries[before.entries:])
	run.Flood = flooded
	run.BusyAfter = max(0, m.record.LastWrite().Sub(busy.At).Seconds())
	run.Use = after.UsedSince(before.Look)
	run.Cores, run.CoresOfOthers = busy.CoresSince(before.Look)
	run.CPUBound = bench.CPUBound(len(outcomes), busy.At.Sub(before.At), run.Cores)
	run.WatchEventsPerJoin = (after.watchEvents - before.watchEvents) / float64(len(outcomes))
	return run, profile.Wait()
}

// measurement is a run under way.
type measurement struct {
	hub    *bench.Hub
	order  order
	record *bench.Record
}

func (m measurement) warmUp(ctx context.Context) error {
	if _, err := crowd(ctx, m.order, "warm-up", warmUps, 0); err != nil {
		return err
	}
	return m.awaitQuiet(ctx, warmUps, bench.Stillness)
}

func (m measurement) awaitQuiet(ctx context.Context, clusters int, still time.Duration) error {
	if err := awaitComplete(ctx, m.hub, clusters); err != nil {
		return err
	}
	return m.record.AwaitStillness(ctx, still)
}

// joinsInFlood are the joins, with the flood around them where there is to be one.
func (m measurement) joinsInFlood(ctx context.Context, options Options) ([]Outcome, *Flood, error) {
	if options.FloodRate <= 0 {
		outcomes, err := m.joins(ctx, options)
		return outcomes, nil, err
	}
	stop, err := startFlood(ctx, m.hub, options.FloodRate)
	if err != nil {
		return nil, nil, err
	}
	outcomes, err := m.joins(ctx, options)
	flooded, floodErr := stop()
	return outcomes, flooded, errors.Join(err, floodErr)
}

// joins are n at once, or single ones, one after the other, each on a quiet hub.
func (m measurement) joins(ctx context.Context, options Options) ([]Outcome, error) {
	if options.N > 1 {
		return crowd(ctx, m.order, "bench", options.N, options.Rate)
	}
	var outcomes []Outcome
	for i := range max(options.Singles, 1) {
		one, err := crowd(ctx, m.order, fmt.Sprintf("bench-%d", i), 1, 0)
		if err == nil {
			err = m.record.AwaitStillness(ctx, briefStillness)
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

func summarize(outcomes []Outcome, entries []count.Entry) Run {
	durations := make([]time.Duration, len(outcomes))
	first, last := outcomes[0].Started, outcomes[0].Joined
	looks, tries := 0, 0
	for i, o := range outcomes {
		durations[i] = o.Duration()
		looks, tries = looks+o.Looks, tries+o.Tries
		if o.Started.Before(first) {
			first = o.Started
		}
		if o.Joined.After(last) {
			last = o.Joined
		}
	}
	n := float64(len(outcomes))
	joins := byJoin(outcomes, entries)
	return Run{
		Joins: len(outcomes),
		Rate:  n / last.Sub(first).Seconds(),
		P50:   bench.Quantile(durations, 0.50).Seconds(),
		P99:   bench.Quantile(durations, 0.99).Seconds(),
		Max:   slices.Max(durations).Seconds(),
		Looks: float64(looks) / n,
		Tries: float64(tries) / n,

		Traffic: trafficOf(entries, len(outcomes)),
		Steps:   steps(joins, entries),
		Trace:   trace(outcomes, joins),
	}
}
