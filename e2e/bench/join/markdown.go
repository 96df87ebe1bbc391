package join

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rancher/fleet/e2e/bench"
)

// Markdown is the report for people.
func (r Report) Markdown() string {
	var out strings.Builder
	r.Head.Markdown(&out, cmp.Or(r.Title, "Joins"), r.coresOfOthers())
	r.budgets(&out)
	r.durations(&out)
	r.traffic(&out)
	r.uses(&out)
	for _, cell := range r.Cells {
		if len(r.Cells) == 1 || cell.RTTMillis == 0 && cell.FloodRate == 0 && (cell.N == 1 || cell.N == 50) {
			cell.writes(&out)
			cell.steps(&out)
		}
	}
	return out.String()
}

// coresOfOthers is the highest of all cells.
func (r Report) coresOfOthers() float64 {
	most := 0.0
	for _, cell := range r.Cells {
		most = max(most, cell.Figures["coresOfOthers"].Max)
	}
	return most
}

func (r Report) budgets(out *strings.Builder) {
	bench.Table(out, "Budgets", "agents", "round trip, ms", "figure", "budget", "measured", "verdict")
	for _, cell := range r.Cells {
		for _, b := range budgets {
			if !b.covers(cell) {
				continue
			}
			s := cell.Figures[b.figure]
			bench.Row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), b.name, b.String(), s.Text(cell.Runs), b.Verdict(s))
		}
	}
}

// agents names the cell.
func (c Cell) agents() string {
	text := fmt.Sprint(c.N)
	switch {
	case c.N == 1:
		text = fmt.Sprintf("1, %d times", c.Median.Joins)
	case c.StartRate > 0:
		text = fmt.Sprintf("%d, %s/s start", c.N, bench.Number(c.StartRate))
	}
	if c.FloodRate > 0 {
		text += fmt.Sprintf(", flood of %s/s", bench.Number(c.FloodRate))
	}
	return text
}

// people is the cell in a title.
func (c Cell) people() string {
	if c.N == 1 {
		return "one agent"
	}
	return c.agents() + " agents"
}

func (r Report) durations(out *strings.Builder) {
	bench.Table(out, "Durations, in seconds", "agents", "round trip, ms", "runs", "joins a second", "p50", "p99", "max", "hub busy afterwards", "joins a second that the processors allow", "cores taken by others")
	for _, cell := range r.Cells {
		rate, after, bound := cell.of("rate"), cell.of("busyAfter"), cell.of("cpuBound")
		if cell.N == 1 {
			rate, after, bound = "-", "-", "-" // one waits for the other
		}
		bench.Row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), fmt.Sprint(cell.Runs), rate,
			cell.of("p50"), cell.of("p99"), cell.of("max"), after, bound, cell.of("coresOfOthers"))
	}
}

func (r Report) traffic(out *strings.Builder) {
	bench.Table(out, "Requests per join", "agents", "round trip, ms", "hub writes", "of them up to the agent's bundle", "Leases", "Events", "hub reads", "agent's writes", "agent's reads", "watch events")
	for _, cell := range r.Cells {
		bench.Row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), cell.of("writesPerJoin"), cell.of("bundleWritesPerJoin"), cell.of("leasesPerJoin"), cell.of("eventsPerJoin"),
			cell.of("readsPerJoin"), cell.of("agentWritesPerJoin"), cell.of("agentReadsPerJoin"), cell.of("watchEventsPerJoin"))
	}
}

func (r Report) uses(out *strings.Builder) {
	bench.Table(out, "Processor time per join in ms, and peak memory in MB", append([]string{"agents", "round trip, ms"}, processes...)...)
	for _, cell := range r.Cells {
		cells := []string{cell.agents(), fmt.Sprint(cell.RTTMillis)}
		for _, process := range processes {
			cells = append(cells, fmt.Sprintf("%.0f · %.0f", 1000*cell.Figures["cpuPerJoin "+process].Median, cell.Figures["peakMB "+process].Median))
		}
		bench.Row(out, cells...)
	}
}

func (c Cell) writes(out *strings.Builder) {
	bench.LinesTable(out, fmt.Sprintf("Writes of %s, round trip %d ms", c.people(), c.RTTMillis), "join", c.Median.Writes)
}

func (c Cell) steps(out *strings.Builder) {
	bench.Table(out, fmt.Sprintf("Steps of %s, round trip %d ms: ms since the request arrived", c.people(), c.RTTMillis), "step", "p50", "p99")
	for _, step := range c.Median.Steps {
		bench.Row(out, step.Name, fmt.Sprintf("%.0f", 1000*step.P50), fmt.Sprintf("%.0f", 1000*step.P99))
	}
}

func (c Cell) of(figure string) string { return c.Figures[figure].Text(c.Runs) }
