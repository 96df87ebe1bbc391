package handshake

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A few points lie all over the handshake, each part of it is hit, and no point is out of reach of chance.
func TestTheFewPointsOfASweepLieAllOverTheHandshake(t *testing.T) {
	writes := make([]write, 13)
	for i := range writes {
		writes[i].object = fmt.Sprint(i)
	}
	seen := map[point]bool{}
	for seed := range uint64(500) {
		points := spread(writes, 8, rand.New(rand.NewPCG(seed, 0)))
		require.Len(t, points, 8)
		last := -1
		for i, p := range points {
			n := 0
			_, err := fmt.Sscan(p.object, &n)
			require.NoError(t, err)
			if n = 2 * n; p.after {
				n++
			}
			require.Greater(t, n, last)
			require.GreaterOrEqual(t, n, i*26/8)
			require.Less(t, n, (i+1)*26/8)
			last = n
			seen[p] = true
		}
	}
	require.Len(t, seen, 26)
	require.Len(t, spread(writes[:2], 4, rand.New(rand.NewPCG(1, 0))), 4)
}
