package fanout

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
	fmt.Fprintf(out, "%d deployments in %.2f s: %.1f a second; the hub was busy for another %.1f s, and wrote %.1f a second from %s on\n",
		r.Clusters*r.Bundles, r.Took, r.Rate, r.BusyAfter, r.QuietWrites, quietAfter)
	fmt.Fprintf(out, "writes per deployment %.2f; the processors allow %.0f deployments a second at most\n", r.WritesPerDeployment, r.CPUBound)
	if warning := bench.Warning(r.CoresOfOthers); warning != "" {
		fmt.Fprintln(out, warning)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nprocess\tCPU s\tRSS MB\tpeak MB\n")
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		use := r.Use[name]
		fmt.Fprintf(table, "%s\t%.2f\t%.0f\t%.0f\n", name, use.CPU, use.RSS, use.Peak)
	}
	for _, part := range []struct {
		name  string
		lines []bench.Line
	}{{"writes", r.Writes}, {"reads", r.Reads}} {
		fmt.Fprintf(table, "\n%s by\tverb\tresource\tper deployment\tcount\tfailed\n", part.name)
		for _, line := range part.lines {
			fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t%d\t%d\n", line.UserAgent, line.Verb, line.Resource, line.Per, line.Count, line.Failed)
		}
	}
	_ = table.Flush()
}
