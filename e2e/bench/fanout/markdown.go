package fanout

import (
	"fmt"
	"strings"

	"github.com/rancher/fleet/e2e/bench"
)

// Markdown is the report for people: the sizes side by side, how the figures grow, and where the writes go.
func (r Report) Markdown() string {
	var out strings.Builder
	others := 0.0
	for _, cell := range r.Cells {
		others = max(others, cell.Figures["coresOfOthers"].Max)
	}
	r.Head.Markdown(&out, "Fan-out", others)
	out.WriteString("\nA deployment counts from the first `create` of a Bundle, as it arrives, to the answer of the last `create` of a " +
		"BundleDeployment; writes are all mutating requests until the hub is quiet, without Leases and Events. There are no agents.\n")
	r.sizes(&out)
	r.growth(&out)
	for _, cell := range r.Cells {
		bench.LinesTable(&out, fmt.Sprintf("Writes at %s", cell.size()), "deployment", cell.median().Writes)
	}
	return out.String()
}

// size is how the cell is called.
func (c Cell) size() string { return fmt.Sprintf("%d × %d", c.Clusters, c.Bundles) }

// sizes has a column for each size, and in brackets below a figure its budget.
func (r Report) sizes(out *strings.Builder) {
	columns := []string{"figure"}
	for _, cell := range r.Cells {
		columns = append(columns, fmt.Sprintf("%s, %d runs", cell.size(), len(cell.Runs)), "budget", "verdict")
	}
	bench.Table(out, "Clusters × bundles", columns...)
	for _, f := range figures() {
		cells := []string{f.name}
		for _, cell := range r.Cells {
			s := cell.Figures[f.Key]
			budget, verdict := f.verdict(cell, s)
			cells = append(cells, s.Text(len(cell.Runs)), budget, verdict)
		}
		bench.Row(out, cells...)
	}
}

// verdict is empty where there is no budget.
func (f figure) verdict(c Cell, s bench.Spread) (budget, verdict string) {
	if f.budget == nil {
		return "", ""
	}
	b := f.budget(c.Clusters, c.Bundles)
	if b == nil {
		return "", ""
	}
	return b.String(), b.Verdict(s)
}
