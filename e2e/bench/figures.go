package bench

import (
	"math"
	"slices"
	"time"
)

// Quantile is the smallest of the durations that at least the share q of them do not exceed; 0 of none.
func Quantile(durations []time.Duration, q float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Spread is a figure over several runs.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf is the zero value for no values. Of an even number of them the lower middle one is the median: each of the
// three was measured.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Min: sorted[0], Median: sorted[(len(sorted)-1)/2], Max: sorted[len(sorted)-1]}
}

// Figure is a number that a run has.
type Figure[R any] struct {
	// Key names it in the JSON.
	Key string
	Of  func(R) float64
}

// Figures are the numbers of several runs.
func Figures[R any](list []Figure[R], runs []R) map[string]Spread {
	out := map[string]Spread{}
	for _, f := range list {
		values := make([]float64, len(runs))
		for i, run := range runs {
			values[i] = f.Of(run)
		}
		out[f.Key] = SpreadOf(values)
	}
	return out
}
