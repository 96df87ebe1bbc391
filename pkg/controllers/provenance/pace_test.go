package provenance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// pauses are those between looks that all find the same.
func pauses(p pace, enforced bool, n int) (out []time.Duration) {
	for range n {
		var pause time.Duration
		pause, p = p.next(enforced)
		out = append(out, pause)
	}
	return out
}

func TestLooksFollowEachOtherAsThereIsReason(t *testing.T) {
	const s, m = time.Second, time.Minute
	assert.Equal(t, []time.Duration{time.Hour, time.Hour}, pauses(pace{}, true, 2))
	assert.Equal(t, []time.Duration{s, 5 * s, 30 * s, 2 * m, 10 * m, 10 * m}, pauses(pace{}, false, 6))
	assert.Equal(t, []time.Duration{s, 5 * s, 30 * s, 2 * m, time.Hour, time.Hour}, pauses(afterChange, true, 6))
	assert.Equal(t, []time.Duration{s, 5 * s, 30 * s, 2 * m, 10 * m}, pauses(afterChange, false, 5))

	_, missing := pace{}.next(false)
	assert.Equal(t, []time.Duration{time.Hour}, pauses(missing, true, 1), "once it is there, there is no reason for haste")
	_, good := pace{}.next(true)
	assert.Equal(t, []time.Duration{s}, pauses(good, false, 1), "and when it is gone there is again")
}
