package summary

import fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"

const (
	// maxPartitions and maxPartitionEntries bound what a status says of the partitions of a rollout.
	maxPartitions       = 100
	maxPartitionEntries = 16
)

// Partitions makes what a status says of partitions fit into it, however many there are: the counts stay, and of the
// examples those alone that name no resources. All partitions after the last that fits are left out.
func Partitions(list []fleet.PartitionStatus) []fleet.PartitionStatus {
	entries := 0
	kept := make([]fleet.PartitionStatus, 0, min(len(list), maxPartitions))
	for _, p := range list[:min(len(list), maxPartitions)] {
		p.Name = printable(p.Name, maxWord)
		examples := p.Summary.NonReadyResources
		p.Summary.NonReadyResources = nil
		for _, example := range examples {
			if entries++; entries > maxPartitionEntries {
				break
			}
			example.ModifiedStatus, example.NonReadyStatus = nil, nil
			example.Message = printable(example.Message, maxWord)
			p.Summary.NonReadyResources = append(p.Summary.NonReadyResources, example)
		}
		kept = append(kept, p)
	}
	return kept
}

// maxCount bounds what is believed of a number that an agent reports.
const maxCount = 1 << 20

// AddCounts adds the counts of one deployment's resources, as its agent reports them, to those of many.
func AddCounts(sum *fleet.ResourceCounts, one fleet.ResourceCounts) {
	add := addCount
	add(&sum.Ready, one.Ready)
	add(&sum.DesiredReady, one.DesiredReady)
	add(&sum.WaitApplied, one.WaitApplied)
	add(&sum.Modified, one.Modified)
	add(&sum.Orphaned, one.Orphaned)
	add(&sum.Missing, one.Missing)
	add(&sum.Unknown, one.Unknown)
	add(&sum.NotReady, one.NotReady)
}

func addCount(to *int, n int) { *to += min(max(n, 0), maxCount) }
