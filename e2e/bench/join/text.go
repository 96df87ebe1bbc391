package join

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/rancher/fleet/e2e/bench"
)

// Print tells a run to people.
func (r Run) Print(out io.Writer) {
	fmt.Fprintf(out, "%d joins   rate %.1f/s   p50 %.3f s   p99 %.3f s   max %.3f s   hub busy for another %.1f s\n", r.Joins, r.Rate, r.P50, r.P99, r.Max, r.BusyAfter)
	fmt.Fprintf(out, "writes per join %.2f, up to the agent's bundle %.2f (beside them: Leases %.2f, Events %.2f, the agent's own %.2f)\n",
		r.WritesPerJoin, r.BundleWritesPerJoin, r.LeasesPerJoin, r.EventsPerJoin, r.AgentWritesPerJoin)
	fmt.Fprintf(out, "reads per join %.2f, the agent's own %.2f (looks for the credential %.1f, requests sent %.2f); watch events per join %.0f\n",
		r.ReadsPerJoin, r.AgentReadsPerJoin, r.Looks, r.Tries, r.WatchEventsPerJoin)
	fmt.Fprintf(out, "a join costs all processes together so much processor time that this machine could do %.1f/s at most\n", r.CPUBound)
	if f := r.Flood; f != nil {
		fmt.Fprintf(out, "a flood of %g requests a second in between: %d taken, %d refused, %d not sent for want of answers\n", f.Rate, f.Taken, f.Refused, f.Held)
	}
	if warning := bench.Warning(r.CoresOfOthers); warning != "" {
		fmt.Fprintln(out, warning)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nprocess\tCPU s\tcores busy while joining\tRSS MB\tpeak MB\n")
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		use := r.Use[name]
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.0f\t%.0f\n", name, use.CPU, r.Cores[name], use.RSS, use.Peak)
	}
	fmt.Fprintf(table, "others\t\t%.2f\n", r.CoresOfOthers)
	for _, part := range []struct {
		name  string
		lines []bench.Line
	}{{"writes", r.Writes}, {"reads", r.Reads}} {
		fmt.Fprintf(table, "\n%s by\tverb\tresource\tper join\tcount\tfailed\n", part.name)
		for _, line := range part.lines {
			fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t%d\t%d\n", line.UserAgent, line.Verb, line.Resource, line.Per, line.Count, line.Failed)
		}
	}
	_ = table.Flush()
}

// PrintTrace tells where the time goes: over all joins, and in the median one.
func (r Run) PrintTrace(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nsince the request arrived, ms\tp50\tp99\tjoins\n")
	for _, step := range r.Steps {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%d\n", step.Name, 1000*step.P50, 1000*step.P99, step.Joins)
	}
	fmt.Fprintf(table, "\nthe median join: at ms\ttook ms\twho\twhat\tanswer\n")
	for _, line := range r.Trace {
		fmt.Fprintf(table, "%.1f\t%.1f\t%s\t%s\t%d\n", 1000*line.At, 1000*line.Took, line.Who, line.What, line.Code)
	}
	_ = table.Flush()
}
