package join

import "github.com/rancher/fleet/e2e/bench"

// budget is what a figure of some cells has to reach.
type budget struct {
	// n and rttMillis say of which cell; any n if 0.
	n, rttMillis int
	figure       string
	name         string
	bench.Budget
}

// budgets are those of one machine with two cores that hub, controller and agents share.
var budgets = []budget{
	{n: 1, figure: "p50", name: "one join, p50, s", Budget: bench.Budget{Value: 0.09}},
	{n: 1, rttMillis: 50, figure: "p50", name: "one join, p50, s", Budget: bench.Budget{Value: 0.5}},
	{n: 1, rttMillis: 50, figure: "p99", name: "one join, p99, s", Budget: bench.Budget{Value: 2}},
	{n: 50, figure: "rate", name: "joins a second", Budget: bench.Budget{Value: 25, AtLeast: true}},
	{n: 50, figure: "p99", name: "p99, s", Budget: bench.Budget{Value: 2.5}},
	{n: 200, figure: "rate", name: "joins a second", Budget: bench.Budget{Value: 25, AtLeast: true}},
	{n: 200, figure: "p99", name: "p99, s", Budget: bench.Budget{Value: 9}},
	{figure: "bundleWritesPerJoin", name: "hub writes per join, up to the agent's bundle", Budget: bench.Budget{Value: 18}},
	{figure: "writesPerJoin", name: "hub writes per join, with the bundle's deployment", Budget: bench.Budget{Value: 25}},
}

func (b budget) covers(c Cell) bool {
	return (b.n == 0 || b.n == c.N) && b.rttMillis == c.RTTMillis && c.StartRate == 0 && c.FloodRate == 0
}
