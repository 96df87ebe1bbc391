package bench

import "fmt"

// Budget is what a figure has to reach. No test fails over it: a figure depends on the machine.
type Budget struct {
	Value float64
	// AtLeast says that more is better.
	AtLeast bool
}

// String is the budget for people.
func (b Budget) String() string {
	if b.AtLeast {
		return "at least " + Number(b.Value)
	}
	return "at most " + Number(b.Value)
}

// Verdict compares the median with the budget.
func (b Budget) Verdict(s Spread) string {
	over := s.Median - b.Value
	if b.AtLeast {
		over = -over
	}
	switch {
	case over <= 0:
		return "met"
	case b.Value == 0:
		return "missed"
	}
	return fmt.Sprintf("missed by %.0f %%", 100*over/b.Value)
}
