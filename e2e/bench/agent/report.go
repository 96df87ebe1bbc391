package agent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
)

// onHub and onCluster are where requests go.
const onHub, onCluster = "hub", "cluster"

// Times are those of several bundles, in seconds; p50 and p99 are of bundles that there were.
type Times struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func timesOf(all []time.Duration) Times {
	return Times{Count: len(all), P50: bench.Quantile(all, 0.5).Seconds(), P99: bench.Quantile(all, 0.99).Seconds(), Max: bench.Quantile(all, 1).Seconds()}
}

// Memory is that of the agent with so many releases besides its own.
type Memory struct {
	Releases int `json:"releases"`
	bench.Usage
}

// Rest is what the agent asked for a minute while nothing changed, on one side.
type Rest struct {
	Side string `json:"side"`
	// Writes are without Leases and what it says of itself (clusters/status), Leases and Said those, Reads without them.
	Writes float64      `json:"writesPerMinute"`
	Leases float64      `json:"leasesPerMinute"`
	Said   float64      `json:"clusterStatusPerMinute"`
	Reads  float64      `json:"readsPerMinute"`
	Lines  []bench.Line `json:"requests"`
}

// Run is what one run showed.
type Run struct {
	// Registered is the time from the creation of the Cluster until it is registered, in seconds.
	Registered float64 `json:"registered"`
	// Applied and Ready are from the creation of a Bundle until its object is on the cluster, and until the Bundle says Ready.
	Applied Times `json:"applied"`
	Ready   Times `json:"ready"`
	// Memory rises with the releases.
	Memory []Memory `json:"memory"`
	Rest   []Rest   `json:"rest"`
	// CoresOfOthers is how many were busy with nothing of this, from the join to the last release.
	CoresOfOthers float64 `json:"coresOfOthers"`
}

// rest counts what the agent asks for while nothing changes.
func (b *bed) rest(ctx context.Context) ([]Rest, error) {
	b.o.Hub.Tell("nothing changes for %s", b.o.Rest)
	if _, err := b.atRest(ctx); err != nil {
		return nil, err
	}
	var sides []Rest
	end := time.Now().Add(b.o.Rest)
	known := map[string]int{}
	for side, record := range b.records {
		if _, err := record.Read(); err != nil {
			return nil, err
		}
		known[side] = len(record.Entries)
	}
	if err := stage.AwaitEvery(ctx, bench.BetweenLooks, "the end of the rest", func(context.Context) (bool, string, error) {
		return time.Now().After(end), "", nil
	}); err != nil {
		return nil, err
	}
	for _, side := range []string{onHub, onCluster} {
		record := b.records[side]
		if _, err := record.Read(); err != nil {
			return nil, err
		}
		sides = append(sides, restOf(side, record.Entries[known[side]:], b.o.Rest))
	}
	return sides, nil
}

func restOf(side string, entries []count.Entry, long time.Duration) Rest {
	requests := bench.RequestsOf(entries)
	mine := requests.All.Where(count.By(processAgent))
	said := func(k count.Key) bool { return k.Resource == "clusters" && k.Subresource == "status" }
	perMinute := func(c count.Counts) float64 { return float64(c.Total()) / long.Minutes() }
	return Rest{
		Side: side, Writes: perMinute(mine.Writes().Without(count.Leases).Without(said)), Leases: perMinute(mine.Where(count.Leases)),
		Said: perMinute(mine.Where(said)), Reads: perMinute(mine.Reads().Without(count.Leases)), Lines: requests.Lines(mine, 1),
	}
}

// Report is the content of the JSON file.
type Report struct {
	bench.Head
	Runs []Run `json:"runs"`
}

// row is a figure of the table.
type row struct {
	name   string
	of     func(Run) float64
	budget *bench.Budget
}

func atMost(value float64) *bench.Budget { return &bench.Budget{Value: value} }

// memoryBudget is that of the agent, whatever it has deployed.
const memoryBudget = 60

func (r Report) rows() []row {
	rows := []row{
		{"Cluster → registered, s", func(r Run) float64 { return r.Registered }, atMost(2)},
		{"bundle → applied, p50, s", func(r Run) float64 { return r.Applied.P50 }, atMost(0.5)},
		{"bundle → applied, p99, s", func(r Run) float64 { return r.Applied.P99 }, nil},
		{"bundle → Ready, p50, s", func(r Run) float64 { return r.Ready.P50 }, atMost(0.7)},
		{"bundle → Ready, p99, s", func(r Run) float64 { return r.Ready.P99 }, nil},
	}
	for i, memory := range r.Runs[0].Memory {
		rows = append(rows,
			row{fmt.Sprintf("RSS with %d releases, MB", memory.Releases), func(r Run) float64 { return r.Memory[i].RSS }, atMost(memoryBudget)},
			row{fmt.Sprintf("peak RSS up to %d releases, MB", memory.Releases), func(r Run) float64 { return r.Memory[i].Peak }, nil})
	}
	for i, rest := range r.Runs[0].Rest {
		rows = append(rows,
			row{"writes a minute at rest, " + rest.Side, func(r Run) float64 { return r.Rest[i].Writes }, atMost(0)},
			row{"Leases a minute at rest, reads and writes, " + rest.Side, func(r Run) float64 { return r.Rest[i].Leases }, nil},
			row{"reads a minute at rest, watches too, " + rest.Side, func(r Run) float64 { return r.Rest[i].Reads }, nil})
	}
	return append(rows, row{"cores taken by others", func(r Run) float64 { return r.CoresOfOthers }, nil})
}

// Markdown is the report for people.
func (r Report) Markdown() string {
	var out strings.Builder
	others := 0.0
	for _, run := range r.Runs {
		others = max(others, run.CoresOfOthers)
	}
	r.Head.Markdown(&out, "Agent", others)
	last := r.Runs[len(r.Runs)-1]
	fmt.Fprintf(&out, "\nOne cluster joins by a kubeconfig; its agent is a process. Times are of %d bundles of one ConfigMap each, one after the other; "+
		"releases are besides the agent's own.\n", last.Applied.Count)
	bench.Table(&out, "The agent", "figure", fmt.Sprintf("%d runs", len(r.Runs)), "budget", "verdict")
	for _, row := range r.rows() {
		values := make([]float64, len(r.Runs))
		for i, run := range r.Runs {
			values[i] = row.of(run)
		}
		spread, budget, verdict := bench.SpreadOf(values), "", ""
		if row.budget != nil {
			budget, verdict = row.budget.String(), row.budget.Verdict(spread)
		}
		bench.Row(&out, row.name, spread.Text(len(r.Runs)), budget, verdict)
	}
	return out.String()
}

// Print tells a run to people.
func (r Run) Print(out io.Writer) {
	fmt.Fprintf(out, "registered after %.2f s; %d bundles: applied p50 %.3f s, p99 %.3f s; Ready p50 %.3f s, p99 %.3f s\n",
		r.Registered, r.Applied.Count, r.Applied.P50, r.Applied.P99, r.Ready.P50, r.Ready.P99)
	for _, m := range r.Memory {
		fmt.Fprintf(out, "%3d releases: RSS %.1f MB, peak %.1f MB, %.2f s of processor time\n", m.Releases, m.RSS, m.Peak, m.CPU)
	}
	for _, rest := range r.Rest {
		fmt.Fprintf(out, "at rest, %s: %.1f writes a minute, %.1f Leases, %.1f cluster statuses, %.1f reads\n", rest.Side, rest.Writes, rest.Leases, rest.Said, rest.Reads)
		for _, line := range rest.Lines {
			fmt.Fprintf(out, "   %s %s: %d\n", line.Verb, line.Resource, line.Count)
		}
	}
	fmt.Fprintln(out, cmp.Or(bench.Warning(r.CoresOfOthers), "the machine was quiet"))
}
