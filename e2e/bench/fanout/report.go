package fanout

import "github.com/rancher/fleet/e2e/bench"

// Report is the content of the JSON file.
type Report struct {
	bench.Head
	Cells []Cell `json:"cells"`
}

// Cell is one combination of options, and its runs, each on a new hub.
type Cell struct {
	Clusters int                     `json:"clusters"`
	Bundles  int                     `json:"bundles"`
	Runs     []Run                   `json:"runs"`
	Figures  map[string]bench.Spread `json:"figures"`
}

// NewCell puts runs together.
func NewCell(clusters, bundles int, runs []Run) Cell {
	var list []bench.Figure[Run]
	for _, f := range figures() {
		list = append(list, f.Figure)
	}
	return Cell{Clusters: clusters, Bundles: bundles, Runs: runs, Figures: bench.Figures(list, runs)}
}

// deployments is how many there are.
func (c Cell) deployments() int { return c.Clusters * c.Bundles }

// median is the run whose rate is the median.
func (c Cell) median() Run {
	for _, run := range c.Runs {
		if run.Rate == c.Figures["rate"].Median {
			return run
		}
	}
	return Run{}
}
