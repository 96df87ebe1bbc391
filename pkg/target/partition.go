package target

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Defaults of a rollout.
var (
	everything           = intstr.FromString("100%")
	defaultPartitionSize = intstr.FromString("25%")
)

const (
	defaultMaxNew             = 50
	defaultPartitionThreshold = 200
	// allPartition and restPartition are the partitions that nobody defines.
	allPartition  = "All"
	restPartition = "Others"
)

// partition is a group of clusters that are changed together.
type partition struct {
	name    string
	max     *intstr.IntOrString
	members []int
}

// partitions divides the placements. They may be in several of the partitions that a user defines; those in none of
// them make a last one, so that they are not left behind.
func partitions(strategy *fleet.RolloutStrategy, placements []Placement) ([]partition, error) {
	if len(strategy.Partitions) > 0 {
		return manualPartitions(strategy.Partitions, placements)
	}
	threshold := defaultPartitionThreshold
	if strategy.AutoPartitionThreshold != nil {
		threshold = *strategy.AutoPartitionThreshold
	}
	size, err := partitionSize(strategy, len(placements))
	if err != nil {
		return nil, err
	}
	if threshold <= 0 || size <= 0 || len(placements) < threshold {
		return []partition{{name: allPartition, members: indexes(0, len(placements))}}, nil
	}
	var parts []partition
	for from := 0; from < len(placements); from += size {
		to := min(from+size, len(placements))
		parts = append(parts, partition{name: fmt.Sprintf("Partition %d - %d", from+1, to), members: indexes(from, to)})
	}
	return parts, nil
}

// partitionSize is 0 where there is to be one partition only.
func partitionSize(strategy *fleet.RolloutStrategy, count int) (int, error) {
	given := strategy.AutoPartitionSize
	if given != nil && given.Type == intstr.Int && given.IntVal <= 0 {
		return 0, nil
	}
	size, err := limit(count, defaultPartitionSize, given)
	if err != nil {
		return 0, &fieldError{field: "spec.rolloutStrategy.autoPartitionSize", err: err}
	}
	return size, nil
}

func manualPartitions(defined []fleet.Partition, placements []Placement) ([]partition, error) {
	collected := make([]bool, len(placements))
	var parts []partition
	for i, p := range defined {
		criteria, err := choice{p.ClusterName, p.ClusterGroup, p.ClusterSelector, p.ClusterGroupSelector}.compile()
		if err != nil {
			return nil, err.below(fmt.Sprintf("spec.rolloutStrategy.partitions[%d]", i))
		}
		part := partition{name: p.Name, max: p.MaxUnavailable}
		for at, placement := range placements {
			if criteria.matches(placement.Cluster, placement.Groups) {
				part.members = append(part.members, at)
				collected[at] = true
			}
		}
		parts = append(parts, part)
	}
	rest := partition{name: restPartition}
	for at, in := range collected {
		if !in {
			rest.members = append(rest.members, at)
		}
	}
	if len(rest.members) > 0 {
		parts = append(parts, rest)
	}
	return parts, nil
}

func indexes(from, to int) []int {
	list := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
