package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/util/intstr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func number(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }
func share(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }
func count(n int) *int                   { return &n }

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		count int
		value *intstr.IntOrString
		want  int
	}{
		{10, nil, 10}, {0, nil, 1}, {-1, number(5), 1},
		{10, number(3), 3}, {10, number(0), 0}, {10, number(-1), 0}, {10, number(11), 10},
		{10, share("3"), 3}, {10, share("0"), 0}, {10, share("11"), 10},
		{10, share("50%"), 5}, {10, share("55%"), 5}, {10, share("59%"), 5}, {3, share("10%"), 1}, {10, share("0%"), 1},
		{10, share("100%"), 10}, {10, share("200%"), 10}, {10, share(" 20% "), 2}, {10, share("999999999999999%"), 10},
	} {
		got, err := limit(test.count, everything, nil, test.value)
		require.NoError(t, err)
		assert.Equal(t, test.want, got, "%d of %d", test.value, test.count)
	}
	for _, wrong := range []string{"", "%", "a", "-1", "-1%", "1.5%", "1%%", "10 %", "many\x1b"} {
		_, err := limit(10, everything, share(wrong))
		require.ErrorContains(t, err, "is neither a number nor a percentage", wrong)
	}
}

func TestTheFirstLimitThatIsGivenCounts(t *testing.T) {
	got, err := limit(10, everything, number(2), number(3))
	require.NoError(t, err)
	assert.Equal(t, 2, got)
	got, err = limit(10, everything, nil, number(3))
	require.NoError(t, err)
	assert.Equal(t, 3, got)
}

func TestClustersArePartitioned(t *testing.T) {
	sizes := func(n int, strategy fleet.RolloutStrategy) (sizes []int, names []string) {
		parts, err := partitions(&strategy, make([]Placement, n))
		require.NoError(t, err)
		seen := 0
		for _, part := range parts {
			sizes, names = append(sizes, len(part.members)), append(names, part.name)
			for _, m := range part.members {
				assert.Equal(t, seen, m, "each once, in order")
				seen++
			}
		}
		assert.Equal(t, n, seen)
		return sizes, names
	}
	for _, test := range []struct {
		n        int
		strategy fleet.RolloutStrategy
		want     []int
	}{
		{0, fleet.RolloutStrategy{}, []int{0}},
		{199, fleet.RolloutStrategy{}, []int{199}},
		{200, fleet.RolloutStrategy{}, []int{50, 50, 50, 50}},
		{230, fleet.RolloutStrategy{}, []int{57, 57, 57, 57, 2}},
		{230, fleet.RolloutStrategy{AutoPartitionSize: share("10%")}, []int{23, 23, 23, 23, 23, 23, 23, 23, 23, 23}},
		{230, fleet.RolloutStrategy{AutoPartitionSize: number(100)}, []int{100, 100, 30}},
		{230, fleet.RolloutStrategy{AutoPartitionSize: number(0)}, []int{230}},
		{230, fleet.RolloutStrategy{AutoPartitionSize: number(-1)}, []int{230}},
		{230, fleet.RolloutStrategy{AutoPartitionThreshold: count(0)}, []int{230}},
		{230, fleet.RolloutStrategy{AutoPartitionThreshold: count(231)}, []int{230}},
		{4, fleet.RolloutStrategy{AutoPartitionThreshold: count(2), AutoPartitionSize: number(1)}, []int{1, 1, 1, 1}},
	} {
		got, _ := sizes(test.n, test.strategy)
		assert.Equal(t, test.want, got)
	}
	_, names := sizes(200, fleet.RolloutStrategy{})
	assert.Equal(t, []string{"Partition 1 - 50", "Partition 51 - 100", "Partition 101 - 150", "Partition 151 - 200"}, names)
	_, names = sizes(3, fleet.RolloutStrategy{})
	assert.Equal(t, []string{"All"}, names)

	_, err := partitions(&fleet.RolloutStrategy{AutoPartitionSize: share("x")}, make([]Placement, 300))
	require.ErrorContains(t, err, "spec.rolloutStrategy.autoPartitionSize: ")
}
