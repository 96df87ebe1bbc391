package registration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
)

// Oracle O1: nothing is written when nothing changes.
func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	w := ofTheWorld(t)
	window := reduced(t, "an observation window of", 20*time.Second, 2*time.Minute)
	planes := map[string]*stage.Cluster{"hub": w.Hub, edge1: w.edge1, edge2: w.edge2}
	before := map[string]count.Counts{}
	for name, plane := range planes {
		counts, err := plane.Requests()
		require.NoError(t, err)
		before[name] = counts
	}
	time.Sleep(window) // the observation window

	for name, plane := range planes {
		after, err := plane.Requests()
		require.NoError(t, err)
		seen := after.Sub(before[name])
		require.NotZero(t, seen.Where(count.Leases, count.Key.Write).Total(), "%s: the window has no renewal of a Lease, so it shows nothing", name)
		writes := seen.Writes().Without(count.Leases, checkin)
		require.Zero(t, writes.Total(), "%s: written in %s in which nothing changed:\n%s", name, window, writes)
		if name == edge1 {
			// The hub has been there, or that it stays away would show nothing.
			require.NotZero(t, before[name].Where(count.By("fleet-controller")).Total(), "%s: calls of the hub before", name)
		}
		if name != "hub" {
			calls := seen.Where(count.By("fleet-controller"))
			require.Zero(t, calls.Total(), "%s: the hub called a cluster on which nothing changed:\n%s", name, calls)
		}
	}
}

// checkin is an agent's report of itself, status.agent.
func checkin(k count.Key) bool {
	return k.UserAgent == "fleet-agent" && k.Group == "fleet.cattle.io" && k.Resource == "clusters" && k.Subresource == "status"
}
