package join

import (
	"fmt"
	"time"
)

// plan is how many agents join, and how.
func (o Options) plan() string {
	switch {
	case o.N <= 1:
		return fmt.Sprintf("%d joins, one after the other", max(o.Singles, 1))
	case o.Rate > 0:
		return fmt.Sprintf("%d joins, %g a second: %s", o.N, o.Rate, time.Duration(float64(o.N)/o.Rate*float64(time.Second)).Round(time.Second))
	}
	return fmt.Sprintf("%d joins at once", o.N)
}
