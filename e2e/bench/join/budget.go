package join

import (
	"fmt"

	"github.com/rancher/fleet/e2e/bench"
)

// budget is what a figure has to reach. No test fails over it: a figure depends on the machine.
type budget struct {
	// n and rttMillis say of which cell; any n if 0.
	n, rttMillis int
	figure       string
	name         string
	value        float64
	// atLeast says that more is better.
	atLeast bool
}

// budgets are those of one machine with two cores that hub, controller and agents share.
var budgets = []budget{
	{n: 1, figure: "p50", name: "one join, p50, s", value: 0.09},
	{n: 1, rttMillis: 50, figure: "p50", name: "one join, p50, s", value: 0.5},
	{n: 1, rttMillis: 50, figure: "p99", name: "one join, p99, s", value: 2},
	{n: 50, figure: "rate", name: "joins a second", value: 25, atLeast: true},
	{n: 50, figure: "p99", name: "p99, s", value: 2.5},
	{n: 200, figure: "rate", name: "joins a second", value: 25, atLeast: true},
	{n: 200, figure: "p99", name: "p99, s", value: 9},
	{figure: "bundleWritesPerJoin", name: "hub writes per join, up to the agent's bundle", value: 18},
	{figure: "writesPerJoin", name: "hub writes per join, with the bundle's deployment", value: 25},
}

func (b budget) covers(c Cell) bool {
	return (b.n == 0 || b.n == c.N) && b.rttMillis == c.RTTMillis && c.StartRate == 0
}

// verdict compares the median with the budget.
func (b budget) verdict(s bench.Spread) string {
	over := s.Median/b.value - 1
	if b.atLeast {
		over = -over
	}
	if over <= 0 {
		return "met"
	}
	return fmt.Sprintf("missed by %.0f %%", 100*over)
}
