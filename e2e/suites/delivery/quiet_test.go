package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// C07, C08, C09, and the budget: once all is ready, nothing is written but Leases and what agents say at their check-ins;
// a heartbeat starts no other work.
func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	b := theBed(t)
	const name = "quiet"
	b.create(t, newBundle(name, toBoth(), configMap("cm", "a"),
		file("app.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec:\n  selector: {matchLabels: {app: app}}\n"+
			"  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: c, image: nginx}]}}\n")))
	b.awaitReady(t, name, 2)
	b.awaitQuiet(t)

	watched := stage.Reduced(t, "seconds of quiet", 40, 300) // longer than two heartbeats
	var leases int
	all := count.Counts{}
	deadline := time.Now().Add(time.Duration(watched) * time.Second)
	for time.Now().Before(deadline) {
		time.Sleep(time.Second) // the observation window
		require.NoError(t, b.log.Read(func(e count.Entry) {
			switch {
			case !e.Key.Write() || e.UserAgent == "stage" || count.Events(e.Key) || count.Reviews(e.Key):
			case count.Leases(e.Key):
				leases++
			case e.Key.Resource == "clusters" && e.Key.Subresource == "status" && e.UserAgent == "fleet-agent": // lastSeen
			default:
				all[e.Key]++
			}
		}))
	}
	require.Zero(t, all.Total(), "written while nothing changed:\n%s", all)
	require.NotZero(t, leases, "no Lease was renewed, so this shows nothing")
}

// The agent's own bundle is adopted and Ready, and that has restarted no agent.
func TestAgentBundlesAreReady(t *testing.T) {
	b := theBed(t)
	for _, name := range []string{one, two} {
		b.awaitReady(t, "fleet-agent-"+name, 1)
		require.Len(t, b.nodes[name].Agents(stage.SystemNamespace), 1)
		deployment, err := b.AwaitAgent(stage.Until(t, patience), b.clusters[name], stage.SystemNamespace)
		require.NoError(t, err)
		require.Equal(t, "1", deployment.Annotations["deployment.kubernetes.io/revision"], "the agent of %s was rolled", name)
		bd, err := b.deployment(t.Context(), "fleet-agent-"+name, name)
		require.NoError(t, err)
		require.NotNil(t, bd)
		require.NotEmpty(t, bd.Labels[fleet.BundleLabel])
	}
}
