package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// act is what hub and agents do: the plan is written, and some of the released become ready.
func act(p Plan, placements []Placement, arrives func(i int) bool) {
	for i := range placements {
		placement := &placements[i]
		step := p.Place[placement.Key()]
		if step.Create {
			placement.Deployment = &fleet.BundleDeployment{}
		}
		bd := placement.Deployment
		if bd == nil {
			continue
		}
		if step.Stage {
			bd.Spec.StagedDeploymentID = placement.DeploymentID
		}
		if step.Promote {
			bd.Spec.DeploymentID = placement.DeploymentID
		}
		if bd.Spec.DeploymentID != "" && !placement.Offline && arrives(i) {
			bd.Status.AppliedDeploymentID, bd.Status.Ready = bd.Spec.DeploymentID, true
		}
	}
}

// Whatever the strategy, a rollout ends, and on its way there are never more unavailable than it allows.
func TestRolloutsEndWithinTheirLimits(t *testing.T) {
	for name, strategy := range map[string]fleet.RolloutStrategy{
		"default":            {},
		"one by one":         {MaxUnavailable: number(1)},
		"a share":            {MaxUnavailable: share("25%")},
		"partitions":         {MaxUnavailable: number(3), AutoPartitionThreshold: count(1), AutoPartitionSize: number(4)},
		"strict partitions":  {AutoPartitionThreshold: count(1), AutoPartitionSize: share("10%"), MaxUnavailable: share("10%")},
		"a canary":           {MaxUnavailable: number(5), Partitions: []fleet.Partition{{Name: "canary", ClusterName: "c07", MaxUnavailable: number(0)}, {Name: "more", ClusterSelector: selecting("number", "8")}}},
		"few new":            {MaxNew: count(2), MaxUnavailable: number(2)},
		"several partitions": {AutoPartitionThreshold: count(1), AutoPartitionSize: number(5), MaxUnavailable: number(2), MaxUnavailablePartitions: number(2)},
	} {
		for seed := range 3 {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				placements := fleetOf(20)
				for i := range placements {
					switch {
					case i%7 == seed:
						placements[i].Deployment = nil
					case i%6 == seed:
						placements[i].Offline = true
					}
				}
				most, err := limit(len(placements), intstr.FromString("100%"), strategy.MaxUnavailable)
				require.NoError(t, err)
				for pass := 0; ; pass++ {
					require.Less(t, pass, 200, "the rollout does not end")
					p := plan(t, rolling(strategy), placements)
					old := map[string]bool{}
					for _, placement := range placements {
						if placement.Deployment != nil && !placement.Offline && placement.Deployment.Status.Ready {
							old[placement.Cluster.Name] = true
						}
					}
					if with(p, promoted) == 0 && !p.More && done(placements) {
						break
					}
					act(p, placements, func(int) bool { return false })
					disturbed := 0
					for _, placement := range placements {
						if old[placement.Cluster.Name] && placement.unavailable() {
							disturbed++
						}
					}
					require.LessOrEqual(t, disturbed, most)
					act(Plan{}, placements, func(i int) bool { return (i+pass)%3 == 0 })
				}
			})
		}
	}
}

func done(placements []Placement) bool {
	for _, placement := range placements {
		if !placement.Offline && (placement.behind() || placement.unavailable()) {
			return false
		}
	}
	return true
}

func TestAPartitionHasALimitOfItsOwn(t *testing.T) {
	p := plan(t, rolling(fleet.RolloutStrategy{MaxUnavailable: number(5), Partitions: []fleet.Partition{
		{Name: "careful", ClusterSelector: selecting(), MaxUnavailable: number(2)},
	}}), fleetOf(6))
	assert.Equal(t, 2, with(p, promoted))
	assert.Equal(t, `unavailable clusters of the partition "careful": 2, of at most 2`, p.Wait)
}

func TestAPausedClusterDoesNotHoldItsPartitionUp(t *testing.T) {
	placements := fleetOf(2)
	placements[0].Cluster.Spec.Paused = true
	b := rolling(fleet.RolloutStrategy{Partitions: []fleet.Partition{{Name: "first", ClusterName: "c00", MaxUnavailable: number(0)}}})
	assert.True(t, stepOf(plan(t, b, placements), "c01").Promote)
	placements[0].Deployment.Status.Ready = false
	assert.False(t, stepOf(plan(t, b, placements), "c01").Promote, "unless it does not work")
}

// One cluster can go first, alone, and hold the others back until it is well.
func TestACanaryGoesFirst(t *testing.T) {
	b := rolling(fleet.RolloutStrategy{Partitions: []fleet.Partition{{Name: "canary", ClusterSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "number", Operator: "In", Values: []string{"1", "2"}}},
	}, MaxUnavailable: number(0)}}})
	placements := fleetOf(4)
	p := plan(t, b, placements)
	assert.Equal(t, 1, with(p, promoted), "one by one")
	assert.True(t, stepOf(p, "c01").Promote)
	assert.False(t, stepOf(p, "c00").Stage)

	placements[1].Deployment = running(newID, true)
	p = plan(t, b, placements)
	assert.True(t, stepOf(p, "c02").Promote)
	assert.False(t, stepOf(p, "c00").Stage)

	placements[2].Deployment = running(newID, false)
	p = plan(t, b, placements)
	assert.False(t, stepOf(p, "c00").Stage)
	assert.Equal(t, `the partition "canary" comes first; clusters of it that are not up to date and ready: 1, of at most 0`, p.Wait)

	placements[2].Deployment = running(newID, true)
	p = plan(t, b, placements)
	assert.Equal(t, 2, with(p, promoted))
}
