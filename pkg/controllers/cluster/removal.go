package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// removal is what is known of a Cluster that is to go only after what bundles brought to its cluster.
type removal struct {
	cluster *fleet.Cluster
	now     time.Time
	timeout time.Duration
	// deployments are those in its namespace, the one of its own agent apart.
	deployments []*fleet.BundleDeployment
	// access says that its agent can still come.
	access bool
	// spared says why nothing is removed all the same, empty where nothing speaks against it.
	spared string
}

// removalStep is the next step of a removal.
type removalStep struct {
	// begin is to be noted on the Cluster before anything is removed.
	begin *registration.Leaving
	// remove are to be deleted.
	remove []*fleet.BundleDeployment
	// waiting says what is awaited, at the latest until ends.
	waiting string
	ends    time.Time
	// done says that the Cluster may go; incomplete what stayed, and why, empty where nothing did.
	done       bool
	incomplete string
}

// decideRemoval has the deployments deleted, and waits until the agent has said, in a report of after the beginning, that it
// has nothing left to remove. An agent that reports nothing of the kind is given all of the time.
func decideRemoval(in removal) removalStep {
	noted, begun := registration.LeavingOf(in.cluster, in.now)
	ends := noted.Since.Add(in.timeout)
	switch {
	case in.isOver(noted, begun):
		return removalStep{done: true}
	case begun && !in.now.Before(ends):
		return in.given("the time for that ended at " + stamp(ends))
	case in.spared != "":
		return in.given(in.spared)
	case !in.access:
		return in.given("its agent has no access to the hub")
	case !begun:
		begin := registration.BeginLeaving(in.cluster, in.now)
		return removalStep{begin: &begin, ends: begin.Since.Add(in.timeout)}
	}
	open := slices.DeleteFunc(slices.Clone(in.deployments), func(bd *fleet.BundleDeployment) bool { return bd.DeletionTimestamp != nil })
	return removalStep{
		remove: open, ends: ends,
		waiting: fmt.Sprintf("what bundles brought to the cluster is being removed, since %s and until %s at the latest: %s", stamp(noted.Since), stamp(ends), in.left()),
	}
}

// isOver says that nothing is left to remove. Where something was, the agent's last word of before that does not count.
func (in removal) isOver(noted registration.Leaving, begun bool) bool {
	if len(in.deployments) > 0 {
		return false
	}
	agent := in.cluster.Status.Agent
	if !begun {
		return agent.Bundles == nil || agent.Bundles.Count == 0
	}
	return agent.Bundles != nil && agent.Bundles.Count == 0 && !agent.LastSeen.UTC().Equal(noted.Heard)
}

// given is the end of a removal that did not come to its own.
func (in removal) given(why string) removalStep {
	return removalStep{done: true, incomplete: fmt.Sprintf("not all that bundles brought to the cluster is removed, and of the rest nothing will be, since %s: %s", why, in.left())}
}

const (
	// maxNamed bounds how many bundles a message names, maxName how long such a name is.
	maxNamed, maxName = 5, 64
)

// left says what there is still to remove.
func (in removal) left() string {
	var said []string
	if n := len(in.deployments); n > 0 {
		list := make([]string, 0, n)
		for _, bd := range in.deployments {
			list = append(list, bd.Name)
		}
		slices.Sort(list)
		said = append(said, fmt.Sprintf("%d BundleDeployments are still there (%s)", n, named(list, n)))
	}
	switch b := in.cluster.Status.Agent.Bundles; {
	case b == nil:
		said = append(said, "its agent has not said what is left")
	case b.Count <= 0:
		said = append(said, "its agent has yet to say that nothing is left")
	case len(b.Removing) > 0:
		said = append(said, fmt.Sprintf("its agent has yet to remove %d bundles (%s)", b.Count, named(b.Removing, b.Count)))
	default:
		said = append(said, fmt.Sprintf("its agent has yet to remove %d bundles", b.Count))
	}
	return strings.Join(said, ", ")
}

// named are the first of some names, of total ones. Those that an agent reports may be any text.
func named(list []string, total int) string {
	var shown []string
	for _, name := range list[:min(len(list), maxNamed)] {
		shown = append(shown, registration.Shown(name, maxName))
	}
	if more := total - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
