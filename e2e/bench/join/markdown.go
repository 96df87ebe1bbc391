package join

import (
	"fmt"
	"strings"

	"github.com/rancher/fleet/e2e/bench"
)

// Markdown is the report for people.
func (r Report) Markdown() string {
	var out strings.Builder
	m := r.Machine
	fmt.Fprintf(&out, "## Joins\n\n%s, commit %s, by `%s`.\n\n", r.Date.Format("2006-01-02"), m.Commit, r.Command)
	fmt.Fprintf(&out, "%s, %d cores, %.0f GB; Linux %s, %s; %s; %s.\n\n", m.CPU, m.Cores, m.MemoryGB, m.Kernel, m.Go, m.Kubernetes, m.Product)
	out.WriteString("Figures are the median of the runs, in brackets the lowest and the highest. A verdict is on the median.\n")
	if others := r.coresOfOthers(); others > quietMachine {
		fmt.Fprintf(&out, "\n**The machine was not idle: up to %s of its %d cores were busy with other things. Rates and durations are worse than "+
			"they would be; requests are not affected much.**\n", number(others), m.Cores)
	}
	r.budgets(&out)
	r.durations(&out)
	r.traffic(&out)
	r.uses(&out)
	for _, cell := range r.Cells {
		if len(r.Cells) == 1 || cell.RTTMillis == 0 && (cell.N == 1 || cell.N == 50) {
			cell.writes(&out)
			cell.steps(&out)
		}
	}
	return out.String()
}

// quietMachine is how many cores may be busy with other things in figures that are to be trusted.
const quietMachine = 0.1

// coresOfOthers is the highest of all cells.
func (r Report) coresOfOthers() float64 {
	most := 0.0
	for _, cell := range r.Cells {
		most = max(most, cell.Figures["coresOfOthers"].Max)
	}
	return most
}

// row is a line of a table.
func row(out *strings.Builder, cells ...string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

func header(out *strings.Builder, title string, cells ...string) {
	fmt.Fprintf(out, "\n### %s\n\n", title)
	row(out, cells...)
	out.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

func (r Report) budgets(out *strings.Builder) {
	header(out, "Budgets", "agents", "round trip, ms", "figure", "budget", "measured", "verdict")
	for _, cell := range r.Cells {
		for _, b := range budgets {
			if !b.covers(cell) {
				continue
			}
			bound := "at most "
			if b.atLeast {
				bound = "at least "
			}
			s := cell.Figures[b.figure]
			row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), b.name, bound+number(b.value), spread(s, cell.Runs), b.verdict(s))
		}
	}
}

// agents names the cell.
func (c Cell) agents() string {
	switch {
	case c.N == 1:
		return fmt.Sprintf("1, %d times", c.Median.Joins)
	case c.StartRate > 0:
		return fmt.Sprintf("%d, %s/s start", c.N, number(c.StartRate))
	default:
		return fmt.Sprint(c.N)
	}
}

// people is the cell in a title.
func (c Cell) people() string {
	if c.N == 1 {
		return "one agent"
	}
	return c.agents() + " agents"
}

func (r Report) durations(out *strings.Builder) {
	header(out, "Durations, in seconds", "agents", "round trip, ms", "runs", "joins a second", "p50", "p99", "max", "hub busy afterwards", "joins a second that the processors allow", "cores taken by others")
	for _, cell := range r.Cells {
		rate, after, bound := cell.of("rate"), cell.of("busyAfter"), cell.of("cpuBound")
		if cell.N == 1 {
			rate, after, bound = "-", "-", "-" // one waits for the other
		}
		row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), fmt.Sprint(cell.Runs), rate,
			cell.of("p50"), cell.of("p99"), cell.of("max"), after, bound, cell.of("coresOfOthers"))
	}
}

func (r Report) traffic(out *strings.Builder) {
	header(out, "Requests per join", "agents", "round trip, ms", "hub writes", "of them up to the agent's bundle", "Leases", "Events", "hub reads", "agent's writes", "agent's reads", "watch events")
	for _, cell := range r.Cells {
		row(out, cell.agents(), fmt.Sprint(cell.RTTMillis), cell.of("writesPerJoin"), cell.of("bundleWritesPerJoin"), cell.of("leasesPerJoin"), cell.of("eventsPerJoin"),
			cell.of("readsPerJoin"), cell.of("agentWritesPerJoin"), cell.of("agentReadsPerJoin"), cell.of("watchEventsPerJoin"))
	}
}

func (r Report) uses(out *strings.Builder) {
	header(out, "Processor time per join in ms, and peak memory in MB", append([]string{"agents", "round trip, ms"}, processes...)...)
	for _, cell := range r.Cells {
		cells := []string{cell.agents(), fmt.Sprint(cell.RTTMillis)}
		for _, process := range processes {
			cells = append(cells, fmt.Sprintf("%.0f · %.0f", 1000*cell.Figures["cpuPerJoin "+process].Median, cell.Figures["peakMB "+process].Median))
		}
		row(out, cells...)
	}
}

func (c Cell) writes(out *strings.Builder) {
	header(out, fmt.Sprintf("Writes of %s, round trip %d ms", c.people(), c.RTTMillis), "by", "verb", "resource", "per join", "of them failed")
	for _, line := range c.Median.Writes {
		row(out, line.UserAgent, line.Verb, line.Resource, fmt.Sprintf("%.2f", line.PerJoin), fmt.Sprint(line.Failed))
	}
}

func (c Cell) steps(out *strings.Builder) {
	header(out, fmt.Sprintf("Steps of %s, round trip %d ms: ms since the request arrived", c.people(), c.RTTMillis), "step", "p50", "p99")
	for _, step := range c.Median.Steps {
		row(out, step.Name, fmt.Sprintf("%.0f", 1000*step.P50), fmt.Sprintf("%.0f", 1000*step.P99))
	}
}

func (c Cell) of(figure string) string { return spread(c.Figures[figure], c.Runs) }

func spread(s bench.Spread, runs int) string {
	if runs < 2 {
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// number has three digits that say something.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 1:
		return fmt.Sprintf("%.2f", f)
	default:
		return fmt.Sprintf("%.3f", f)
	}
}
