package target

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// none stands for an index that there is not.
const none = -1

// decision is what the entries say about a cluster.
type decision struct {
	// target is the entry that chooses the cluster, excluded the one that forbids it.
	target, excluded int
	// restriction is the one that allows it; restricted says that there are some, and none does.
	restriction int
	restricted  bool
	// uses are the entries whose options hold, in the order in which they are put over the bundle's.
	uses []int
}

func (d decision) targeted() bool {
	return d.target != none && d.excluded == none && !d.restricted
}

func (d decision) equal(other decision) bool {
	if !d.targeted() || !other.targeted() {
		return d.targeted() == other.targeted()
	}
	return slices.Equal(d.uses, other.uses)
}

// decide says whether the cluster gets the bundle, and by which entries. The error is about a group that the answer depends
// on.
func (c *compiled) decide(cluster *fleet.Cluster) (decision, *fieldError) {
	groups, doubtful := c.groupsOf(cluster)
	d := c.decideIn(cluster, groups)
	for _, doubt := range doubtful {
		// Each on its own, and all others that are certain: what none of them changes does not depend on them.
		if other := c.decideIn(cluster, append(slices.Clone(groups), doubt)); !d.equal(other) {
			return d, c.groupProblem(doubt)
		}
	}
	return d, nil
}

func (c *compiled) decideIn(cluster *fleet.Cluster, groups []*fleet.ClusterGroup) decision {
	d := decision{target: none, excluded: none, restriction: none}
	all := c.bundle.Spec.TargetCustomizationMode == fleet.TargetCustomizationModeAllMatches
	for i, e := range c.entries {
		if !e.matches(cluster, groups) {
			continue
		}
		switch {
		case e.doNotDeploy:
			// An exclusion wins wherever it is listed: a wider entry before it must not hide it.
			if d.excluded == none {
				d.excluded = i
			}
		case e.customizes && (all || len(d.uses) == 0):
			d.uses = append(d.uses, i)
		case !e.customizes && d.target == none:
			d.target = i
		}
	}
	// The first customization stands for the target; several are put over it.
	if d.target != none && (all || len(d.uses) == 0) {
		d.uses = append([]int{d.target}, d.uses...)
	}
	if len(c.restrictions) > 0 {
		d.restriction = slices.IndexFunc(c.restrictions, func(r criteria) bool { return r.matches(cluster, groups) })
		d.restricted = d.restriction == none
	}
	return d
}
