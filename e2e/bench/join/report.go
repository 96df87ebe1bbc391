package join

import (
	"slices"
	"time"

	"github.com/rancher/fleet/e2e/bench"
)

// Report is the content of the JSON file.
type Report struct {
	bench.Head
	// Title is for people; empty is "Joins".
	Title string `json:"title,omitempty"`
	Cells []Cell `json:"cells"`
}

// Cell is one combination of options, and its runs, each on a new hub.
type Cell struct {
	// N agents join; where it is 1, each run has several joins, one after the other.
	N int `json:"n"`
	// RTTMillis is the round trip between agents and hub, in milliseconds.
	RTTMillis int `json:"rttMillis"`
	// StartRate is how many agents start in a second, 0 for all at once.
	StartRate float64 `json:"startRate,omitempty"`
	// FloodRate is how many requests that nobody grants came in a second.
	FloodRate float64 `json:"floodRate,omitempty"`
	Runs      int     `json:"runs"`
	// Figures are the runs' numbers; durations are in seconds.
	Figures map[string]bench.Spread `json:"figures"`
	// Median is the run with the median of p50, in full.
	Median Run `json:"median"`
}

// NewCell puts runs together.
func NewCell(n int, rtt time.Duration, startRate, floodRate float64, runs []Run) Cell {
	cell := Cell{
		N: n, RTTMillis: int(rtt.Milliseconds()), StartRate: startRate, FloodRate: floodRate, Runs: len(runs),
		Figures: bench.Figures(figures(), runs),
	}
	for _, run := range slices.Backward(runs) {
		if run.P50 == cell.Figures["p50"].Median {
			cell.Median = run
		}
	}
	return cell
}
