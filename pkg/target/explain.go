package target

import (
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Explanation is why a cluster gets the bundle, or why not.
type Explanation struct {
	// Targeted says whether the entries choose the cluster.
	Targeted bool `json:"targeted"`
	// Reason says why, or why not, in one sentence.
	Reason string `json:"reason"`
	// Target is the name of the entry of spec.targets that chose the cluster, if one did.
	Target string `json:"target,omitempty"`
	// Uses are the names of the entries whose options hold, in the order in which they are put over the bundle's.
	Uses []string `json:"uses,omitempty"`
	// Restriction says which entry of spec.targetRestrictions allows the cluster; empty without restrictions.
	Restriction string `json:"restriction,omitempty"`
	// Excluded is the name of the entry with doNotDeploy that matches.
	Excluded string `json:"excluded,omitempty"`
	// Groups are the names of the ClusterGroups that the cluster is in, sorted.
	Groups []string `json:"groups,omitempty"`
	// Entries are all entries of spec.targets, Restrictions those of spec.targetRestrictions, in their order.
	Entries      []Entry `json:"entries,omitempty"`
	Restrictions []Entry `json:"restrictions,omitempty"`
	// Refusal is set where the options cannot be made, or nothing may be written for the cluster.
	Refusal *Refusal `json:"-"`
}

// Entry is one entry of spec.targets or spec.targetRestrictions, seen from a cluster.
type Entry struct {
	// Name is its name, or the one that stands for it.
	Name string `json:"name"`
	// Customizes says that it only changes options, and chooses no cluster. DoNotDeploy says that it forbids.
	Customizes  bool `json:"customizes,omitempty"`
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`
	// Matches says whether the cluster meets all of its criteria, and Why says which one it does not.
	Matches bool   `json:"matches"`
	Why     string `json:"why"`
}

// Explain says why the cluster, which need not be one of the facts, gets the bundle or does not.
func Explain(facts Facts, cluster *fleet.Cluster) Explanation {
	c := compile(facts)
	groups, _ := c.groupsOf(cluster)
	e := Explanation{}
	for _, group := range groups {
		e.Groups = append(e.Groups, group.Name)
	}
	for _, entry := range c.entries {
		e.Entries = append(e.Entries, explained(entry.criteria, entry.name, cluster, groups))
		last := &e.Entries[len(e.Entries)-1]
		last.Customizes, last.DoNotDeploy = entry.customizes, entry.doNotDeploy
	}
	for i, restriction := range c.restrictions {
		name := fmt.Sprintf("restriction%03d", i)
		if given := facts.Bundle.Spec.TargetRestrictions[i].Name; given != "" {
			name = given
		}
		e.Restrictions = append(e.Restrictions, explained(restriction, name, cluster, groups))
	}
	_, e.Refusal = c.find(cluster, "")
	if c.problem != nil {
		e.Reason = "the bundle cannot be targeted: " + c.problem.Error()
		return e
	}
	d := c.decideIn(cluster, groups)
	e.take(d)
	e.Reason = e.reason(d)
	return e
}

func explained(c criteria, name string, cluster *fleet.Cluster, groups []*fleet.ClusterGroup) Entry {
	result := c.unmet(cluster, groups)
	return Entry{Name: name, Matches: result == met, Why: result.String()}
}

// take fills in the names of the entries that decided.
func (e *Explanation) take(d decision) {
	e.Targeted = d.targeted()
	if d.target != none {
		e.Target = e.Entries[d.target].Name
	}
	if d.excluded != none {
		e.Excluded = e.Entries[d.excluded].Name
	}
	if d.restriction != none {
		e.Restriction = e.Restrictions[d.restriction].Name
	}
	if e.Targeted {
		for _, i := range d.uses {
			e.Uses = append(e.Uses, e.Entries[i].Name)
		}
	}
}

func (e *Explanation) reason(d decision) string {
	switch {
	case e.Refusal != nil && e.Refusal.Quiet:
		return "left as it is: " + e.Refusal.Err.Error()
	case d.excluded != none:
		return fmt.Sprintf("target %q matches, and says doNotDeploy", e.Excluded)
	case len(e.Entries) == 0:
		return "the bundle has no targets"
	case d.target == none:
		return "no target matches the cluster" + customizersHint(e.Entries)
	case d.restricted:
		return fmt.Sprintf("target %q matches, but none of spec.targetRestrictions does", e.Target)
	case e.Refusal != nil:
		return fmt.Sprintf("target %q matches, but the options cannot be made, so that nothing changes: %s: %v", e.Target, e.Refusal.Field, e.Refusal.Err)
	}
	return fmt.Sprintf("target %q matches", e.Target)
}

// customizersHint is for those who take a customization for a target.
func customizersHint(entries []Entry) string {
	for _, entry := range entries {
		if entry.Customizes && entry.Matches {
			return fmt.Sprintf("; %q does, but with spec.targetRestrictions it only customizes", entry.Name)
		}
	}
	return ""
}
