package join

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Print tells a run to people.
func (r Run) Print(out io.Writer) {
	fmt.Fprintf(out, "rate %.1f/s   p50 %.3f s   p99 %.3f s   max %.3f s   hub quiet after another %.1f s\n", r.Rate, r.P50, r.P99, r.Max, r.Quiet)
	fmt.Fprintf(out, "writes per join %.2f (beside them: Leases %.2f, Events %.2f, the agent's own %.2f)\n",
		r.WritesPerJoin, r.LeasesPerJoin, r.EventsPerJoin, r.AgentWritesPerJoin)
	fmt.Fprintf(out, "reads per join %.2f, the agent's own %.2f (looks for the credential %.1f, requests sent %.2f)\n",
		r.ReadsPerJoin, r.AgentReadsPerJoin, r.Looks, r.Tries)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nprocess\tCPU s\tRSS MB\tpeak MB\n")
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		use := r.Use[name]
		fmt.Fprintf(table, "%s\t%.2f\t%.0f\t%.0f\n", name, use.CPU, use.RSS, use.Peak)
	}
	for _, part := range []struct {
		name  string
		lines []Line
	}{{"writes", r.Writes}, {"reads", r.Reads}} {
		fmt.Fprintf(table, "\n%s by\tverb\tresource\tcount\tper join\n", part.name)
		for _, line := range part.lines {
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%.2f\n", line.UserAgent, line.Verb, line.Resource, line.Count, line.PerJoin)
		}
	}
	_ = table.Flush()
}
