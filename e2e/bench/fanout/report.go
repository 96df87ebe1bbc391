package fanout

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rancher/fleet/e2e/bench"
)

// Report is the content of the JSON file.
type Report struct {
	Date    time.Time     `json:"date"`
	Command string        `json:"command"`
	Machine bench.Machine `json:"machine"`
	Cells   []Cell        `json:"cells"`
}

// Cell is one combination of options, and its runs, each on a new hub.
type Cell struct {
	Clusters int                     `json:"clusters"`
	Bundles  int                     `json:"bundles"`
	Runs     []Run                   `json:"runs"`
	Figures  map[string]bench.Spread `json:"figures"`
}

// figure is a number of a run.
type figure struct {
	key, name string
	of        func(Run) float64
	// budget is what the median has to reach; 0 if there is none. atLeast says that more is better.
	budget  func(clusters, bundles int) float64
	atLeast bool
}

func figures() []figure {
	return []figure{
		{key: "rate", name: "deployments a second", of: func(r Run) float64 { return r.Rate }, atLeast: true,
			budget: func(_, _ int) float64 { return 250 }},
		{key: "writesPerDeployment", name: "hub writes per deployment", of: func(r Run) float64 { return r.WritesPerDeployment },
			budget: func(_, _ int) float64 { return 2.2 }},
		{key: "controllerMB", name: "controller's memory, MB", of: func(r Run) float64 { return r.Use[bench.ProcessController].Peak },
			budget: memoryBudget},
		{key: "busyAfter", name: "hub busy afterwards, s", of: func(r Run) float64 { return r.BusyAfter },
			budget: func(_, _ int) float64 { return 10 }},
		{key: "coresOfOthers", name: "cores taken by others", of: func(r Run) float64 { return r.CoresOfOthers }},
	}
}

// memoryBudget has a figure for two sizes only.
func memoryBudget(clusters, bundles int) float64 {
	switch {
	case clusters == 50 && bundles == 20:
		return 120
	case clusters == 200 && bundles == 20:
		return 250
	}
	return 0
}

// NewCell puts runs together.
func NewCell(clusters, bundles int, runs []Run) Cell {
	cell := Cell{Clusters: clusters, Bundles: bundles, Runs: runs, Figures: map[string]bench.Spread{}}
	for _, f := range figures() {
		values := make([]float64, len(runs))
		for i, run := range runs {
			values[i] = f.of(run)
		}
		cell.Figures[f.key] = bench.SpreadOf(values)
	}
	return cell
}

// verdict compares the median with the budget.
func (f figure) verdict(c Cell) (budget, verdict string) {
	if f.budget == nil || f.budget(c.Clusters, c.Bundles) == 0 {
		return "", ""
	}
	value, median := f.budget(c.Clusters, c.Bundles), c.Figures[f.key].Median
	word, over := "at most", median/value-1
	if f.atLeast {
		word, over = "at least", -over
	}
	if over <= 0 {
		return fmt.Sprintf("%s %g", word, value), "met"
	}
	return fmt.Sprintf("%s %g", word, value), fmt.Sprintf("missed by %.0f %%", 100*over)
}

// Markdown is the report for people.
func (r Report) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "## `fanout`: bundles reach clusters\n\n%s, commit %s, %d cores (%s), %.0f GB, `%s`.\n\n",
		r.Date.Format(time.DateOnly), r.Machine.Commit, r.Machine.Cores, r.Machine.CPU, r.Machine.MemoryGB, r.Command)
	fmt.Fprintf(&out, "| clusters | bundles | figure | budget | median (lowest–highest) | verdict |\n|---|---|---|---|---|---|\n")
	for _, cell := range r.Cells {
		for _, f := range figures() {
			s := cell.Figures[f.key]
			budget, verdict := f.verdict(cell)
			fmt.Fprintf(&out, "| %d | %d | %s | %s | %.2f (%.2f–%.2f) | %s |\n", cell.Clusters, cell.Bundles, f.name, budget, s.Median, s.Min, s.Max, verdict)
		}
	}
	return out.String()
}

// Print tells a run to people.
func (r Run) Print(out io.Writer) {
	fmt.Fprintf(out, "%d deployments in %.2f s: %.1f a second; the hub was busy for another %.1f s\n", r.Clusters*r.Bundles, r.Took, r.Rate, r.BusyAfter)
	fmt.Fprintf(out, "writes per deployment %.2f:\n%s\n", r.WritesPerDeployment, r.Writes)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "process\tCPU s\tRSS MB\tpeak MB\n")
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		use := r.Use[name]
		fmt.Fprintf(table, "%s\t%.2f\t%.0f\t%.0f\n", name, use.CPU, use.RSS, use.Peak)
	}
	_ = table.Flush()
	fmt.Fprintf(out, "cores taken by others: %.2f\n", r.CoresOfOthers)
}
