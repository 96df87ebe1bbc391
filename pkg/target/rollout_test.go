package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	oldID = "s-old:1"
	newID = "s-new:2"
)

// running is a deployment that runs the version, and whether well.
func running(id string, ready bool) *fleet.BundleDeployment {
	return &fleet.BundleDeployment{
		Spec:   fleet.BundleDeploymentSpec{DeploymentID: id, StagedDeploymentID: id},
		Status: fleet.BundleDeploymentStatus{AppliedDeploymentID: id, Ready: ready},
	}
}

// fleetOf are that many clusters, c00, c01, …, which all run the old version and are to have the new one.
func fleetOf(n int) []Placement {
	placements := make([]Placement, n)
	for i := range placements {
		placements[i] = Placement{
			Target:     Target{Cluster: cluster(fmt.Sprintf("c%02d", i), "number", fmt.Sprint(i)), DeploymentID: newID},
			Deployment: running(oldID, true),
		}
	}
	return placements
}

func rolling(strategy fleet.RolloutStrategy) *fleet.Bundle {
	b := bundle()
	b.Spec.RolloutStrategy = &strategy
	return b
}

func plan(t *testing.T, b *fleet.Bundle, placements []Placement) Plan {
	t.Helper()
	p, err := Rollout(b, placements)
	require.NoError(t, err)
	require.Len(t, p.Place, len(placements), "each has a step")
	require.Len(t, p.Members, len(p.Partitions))
	for _, step := range p.Place {
		require.False(t, step.Promote && !step.Stage)
		require.False(t, step.Promote && step.Sync)
		require.False(t, step.Promote && step.Wait != "")
	}
	return p
}

// with counts the steps for which it is true.
func with(p Plan, is func(Step) bool) (n int) {
	for _, step := range p.Place {
		if is(step) {
			n++
		}
	}
	return n
}

func promoted(s Step) bool { return s.Promote }
func created(s Step) bool  { return s.Create }
func staged(s Step) bool   { return s.Stage }

func stepOf(p Plan, name string) Step {
	return p.Place[types.NamespacedName{Namespace: workspace, Name: name}]
}

func TestByDefaultEveryoneGoesAtOnce(t *testing.T) {
	p := plan(t, bundle(), fleetOf(60))
	assert.Equal(t, 60, with(p, promoted))
	assert.Equal(t, 60, p.MaxUnavailable)
	assert.Equal(t, 0, p.Unavailable)
	assert.Equal(t, []fleet.PartitionStatus{{Name: "All", Count: 60, MaxUnavailable: 60, Unavailable: 60}}, p.Partitions)
	assert.Empty(t, p.Wait)
}

func TestDeploymentsAreMadeAFewAtATime(t *testing.T) {
	for name, test := range map[string]struct {
		maxNew  *int
		created int
		more    bool
	}{
		"by default": {nil, 50, true}, "none": {count(0), 0, false}, "three": {count(3), 3, true},
		"more than there are": {count(100), 60, false}, "below zero": {count(-1), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			placements := fleetOf(60)
			for i := range placements {
				placements[i].Deployment = nil
			}
			p := plan(t, rolling(fleet.RolloutStrategy{MaxNew: test.maxNew}), placements)
			assert.Equal(t, test.created, p.NewlyCreated)
			assert.Equal(t, test.created, with(p, created))
			assert.Equal(t, test.created, with(p, promoted), "what is new is released at once")
			assert.Equal(t, test.more, p.More)
		})
	}
}

func TestNothingIsMadeWithoutANamespace(t *testing.T) {
	placements := fleetOf(1)
	placements[0].Deployment, placements[0].Cluster.Status.Namespace = nil, ""
	p := plan(t, bundle(), placements)
	assert.Equal(t, Step{Wait: "the cluster has no namespace yet"}, stepOf(p, "c00"))
	assert.False(t, p.More)
}

func TestPausedBundlesAndClustersAreStagedOnly(t *testing.T) {
	placements := fleetOf(3)
	placements[2].Deployment = nil
	b := bundle()
	b.Spec.Paused = true
	p := plan(t, b, placements)
	assert.Equal(t, 3, with(p, staged))
	assert.Equal(t, 1, with(p, created))
	assert.Equal(t, 0, with(p, promoted))
	assert.Equal(t, "paused", stepOf(p, "c00").Wait)

	placements[1].Cluster.Spec.Paused = true
	p = plan(t, bundle(), placements)
	assert.True(t, stepOf(p, "c00").Promote)
	assert.False(t, stepOf(p, "c01").Promote)
}

func TestWhatIsNotPartOfTheIDIsBroughtUpToDate(t *testing.T) {
	placements := fleetOf(2)
	placements[0].Deployment = running(newID, true)
	b := bundle()
	b.Spec.Paused = true
	p := plan(t, b, placements)
	assert.Equal(t, Step{Stage: true, Sync: true}, stepOf(p, "c00"))
	assert.False(t, stepOf(p, "c01").Sync)
}

func TestNoMoreThanTheLimitBecomeUnavailable(t *testing.T) {
	p := plan(t, rolling(fleet.RolloutStrategy{MaxUnavailable: number(2)}), fleetOf(10))
	assert.Equal(t, 2, with(p, promoted))
	assert.Equal(t, 10, with(p, staged))
	assert.Equal(t, "unavailable clusters: 2, of at most 2", p.Wait)
	assert.Equal(t, p.Wait, stepOf(p, "c09").Wait)

	p = plan(t, rolling(fleet.RolloutStrategy{MaxUnavailable: number(0)}), fleetOf(10))
	assert.Equal(t, 0, with(p, promoted))
}

// What does not work is not made worse by the version that may mend it.
func TestUnavailableClustersAreReleasedWhateverTheLimit(t *testing.T) {
	placements := fleetOf(10)
	placements[3].Deployment.Status.Ready = false
	placements[5].Deployment.Status.AppliedDeploymentID = "other"
	p := plan(t, rolling(fleet.RolloutStrategy{MaxUnavailable: number(1)}), placements)
	assert.Equal(t, 2, with(p, promoted))
	assert.True(t, stepOf(p, "c03").Promote)
	assert.True(t, stepOf(p, "c05").Promote)
	assert.Equal(t, 2, p.Unavailable)
}

// B12: a silent cluster is not a failed one.
func TestOfflineClustersBlockNobody(t *testing.T) {
	placements := fleetOf(3)
	placements[0].Offline, placements[0].Deployment = true, running("older", false)
	p := plan(t, rolling(fleet.RolloutStrategy{MaxUnavailable: share("10%")}), placements)
	assert.Equal(t, 0, p.Unavailable)
	assert.True(t, stepOf(p, "c00").Promote, "it gets the version when it is back")
	assert.True(t, stepOf(p, "c01").Promote)
	assert.False(t, stepOf(p, "c02").Promote)

	b := rolling(fleet.RolloutStrategy{MaxUnavailable: number(1), Partitions: []fleet.Partition{
		{Name: "first", ClusterName: "c00", MaxUnavailable: number(0)}, {Name: "second", ClusterName: "c01"},
	}})
	p = plan(t, b, placements)
	assert.Equal(t, 0, p.UnavailablePartitions)
	assert.True(t, stepOf(p, "c01").Promote, "nor does a partition of its own")
}

func TestAPartitionWaitsForThoseBefore(t *testing.T) {
	b := rolling(fleet.RolloutStrategy{AutoPartitionThreshold: count(1), AutoPartitionSize: number(2), MaxUnavailable: number(1)})
	placements := fleetOf(6)
	p := plan(t, b, placements)
	assert.True(t, stepOf(p, "c00").Promote)
	assert.False(t, stepOf(p, "c01").Promote)
	assert.False(t, stepOf(p, "c02").Stage, "the next partition is not touched")
	assert.Equal(t, 1, p.UnavailablePartitions)
	assert.Equal(t, 0, p.MaxUnavailablePartitions)
	assert.Equal(t, `the partition "Partition 1 - 2" comes first; clusters of it that are not up to date and ready: 2, of at most 1`, stepOf(p, "c05").Wait)
	assert.Equal(t, []fleet.PartitionStatus{
		{Name: "Partition 1 - 2", Count: 2, MaxUnavailable: 1, Unavailable: 2},
		{Name: "Partition 3 - 4", Count: 2, MaxUnavailable: 1, Unavailable: 2},
		{Name: "Partition 5 - 6", Count: 2, MaxUnavailable: 1, Unavailable: 2},
	}, p.Partitions, "all are reported")

	placements[0].Deployment = running(newID, true)
	p = plan(t, b, placements)
	assert.True(t, stepOf(p, "c01").Promote)
	assert.True(t, stepOf(p, "c02").Stage, "one that is left may be unavailable")
	assert.False(t, stepOf(p, "c02").Promote, "but not two of the bundle")
}

func TestSomePartitionsMayBeUnavailable(t *testing.T) {
	strategy := fleet.RolloutStrategy{
		AutoPartitionThreshold: count(1), AutoPartitionSize: number(1), MaxUnavailablePartitions: number(1),
		Partitions: []fleet.Partition{
			{Name: "a", ClusterName: "c00", MaxUnavailable: number(0)}, {Name: "b", ClusterName: "c01", MaxUnavailable: number(0)}, {Name: "c", ClusterName: "c02"},
		},
	}
	placements := fleetOf(3)
	placements[0].Deployment.Status.Ready = false
	p := plan(t, rolling(strategy), placements)
	assert.Equal(t, 1, p.MaxUnavailablePartitions)
	assert.Equal(t, 2, p.UnavailablePartitions)
	assert.True(t, stepOf(p, "c01").Stage)
	assert.False(t, stepOf(p, "c02").Stage)

	strategy.MaxUnavailablePartitions = number(2)
	p = plan(t, rolling(strategy), placements)
	assert.True(t, stepOf(p, "c02").Promote)

	strategy.MaxUnavailablePartitions = share("0%")
	p = plan(t, rolling(strategy), placements)
	assert.Equal(t, 1, p.MaxUnavailablePartitions, "a percentage is at least one")
}

func TestPartitionsAreChosenByTheirCriteria(t *testing.T) {
	placements := fleetOf(5)
	placements[1].Groups = []*fleet.ClusterGroup{groupOf("canary", nil, "ring", "0")}
	b := rolling(fleet.RolloutStrategy{MaxUnavailable: number(3), Partitions: []fleet.Partition{
		{Name: "group", ClusterGroup: "canary"},
		{Name: "ring", ClusterGroupSelector: selecting("ring", "0"), MaxUnavailable: share("100%")},
		{Name: "label", ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "number", Operator: "In", Values: []string{"1", "2"}}}}},
		{Name: "nobody", ClusterName: "none"},
		{Name: "nothing"},
	}})
	p := plan(t, b, placements)
	got := map[string][]string{}
	for i, part := range p.Partitions {
		assert.Equal(t, part.Count, len(p.Members[i]))
		for _, member := range p.Members[i] {
			got[part.Name] = append(got[part.Name], member.Name)
		}
	}
	assert.Equal(t, map[string][]string{
		"group": {"c01"}, "ring": {"c01"}, "label": {"c01", "c02"}, "Others": {"c00", "c03", "c04"},
	}, got)
	assert.Equal(t, 3, with(p, promoted), "one that is in several partitions counts once for the bundle")
	assert.Equal(t, 0, p.UnavailablePartitions)
}

func TestClustersInNoPartitionComeLast(t *testing.T) {
	b := rolling(fleet.RolloutStrategy{Partitions: []fleet.Partition{{Name: "first", ClusterName: "c01", MaxUnavailable: number(0)}}})
	placements := fleetOf(3)
	p := plan(t, b, placements)
	assert.True(t, stepOf(p, "c01").Stage)
	assert.False(t, stepOf(p, "c00").Stage)
	placements[1].Deployment = running(newID, true)
	p = plan(t, b, placements)
	assert.True(t, stepOf(p, "c00").Promote)
	assert.True(t, stepOf(p, "c02").Promote)
}

func TestABrokenStrategyIsNamed(t *testing.T) {
	for field, strategy := range map[string]fleet.RolloutStrategy{
		"spec.rolloutStrategy.maxUnavailable":                     {MaxUnavailable: share("x")},
		"spec.rolloutStrategy.maxUnavailablePartitions":           {MaxUnavailablePartitions: share("x")},
		"spec.rolloutStrategy.autoPartitionSize":                  {AutoPartitionSize: share("x")},
		"spec.rolloutStrategy.partitions[0].maxUnavailable":       {Partitions: []fleet.Partition{{ClusterName: "c00", MaxUnavailable: share("x")}}},
		"spec.rolloutStrategy.partitions[1].clusterSelector":      {Partitions: []fleet.Partition{{}, {ClusterSelector: broken()}}},
		"spec.rolloutStrategy.partitions[0].clusterGroupSelector": {Partitions: []fleet.Partition{{ClusterGroupSelector: broken()}}},
	} {
		_, err := Rollout(rolling(strategy), fleetOf(2))
		require.ErrorContains(t, err, field+": ")
	}
}
