package fanout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rancher/fleet/e2e/bench"
)

// linearWithin is by how much more than the number of deployments a figure may grow and still count as linear: two runs
// of the same size differ as much.
const linearWithin = 0.1

// growth compares each size with the next larger one.
func (r Report) growth(out *strings.Builder) {
	cells := slices.SortedFunc(slices.Values(r.Cells), func(a, b Cell) int { return a.deployments() - b.deployments() })
	if len(cells) < 2 {
		return
	}
	out.WriteString("\n### Growth\n\nStatuses are gathered before they are written: a short run ends before most of them, a long one has them in its time. " +
		"The time up to the last write has all of them in both, and a pause of a few seconds besides.\n\n")
	for i, larger := range cells[1:] {
		smaller := cells[i]
		times := float64(larger.deployments()) / float64(smaller.deployments())
		fmt.Fprintf(out, "- From %s to %s, %s times the deployments: %s; %s; %s; %s; %s.\n", smaller.size(), larger.size(), bench.Number(times),
			grown("time", "took", smaller, larger, times), grown("time up to the last write", "whole", smaller, larger, times),
			grown("controller's memory", "controllerPeakMB", smaller, larger, times),
			grown("writes per deployment", "writesPerDeployment", smaller, larger, 1),
			grown("processor time per deployment", "allCPU", smaller, larger, 1))
	}
}

// grown tells how a figure has grown, and whether that is linear in the deployments, which have become so many times more.
func grown(name, key string, smaller, larger Cell, times float64) string {
	before, now := smaller.Figures[key].Median, larger.Figures[key].Median
	if before <= 0 {
		return name + " was not measured"
	}
	verdict := "linear or better"
	if now/before > times*(1+linearWithin) {
		verdict = "worse than linear"
	}
	return fmt.Sprintf("%s %s times (%s)", name, bench.Number(now/before), verdict)
}
