package cases

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// outage is longer than the grace of three heartbeats.
	outage = 10 * time.Second
	// settling is how long after an outage nothing may happen: a fresh grace and more.
	settling = 9 * time.Second
)

// ownBehindShim is a bed whose hub reaches its API server through a shim, and leads through an outage. Agents go to the API
// server itself.
func ownBehindShim(t *testing.T) (*bed, *shim.TLS) {
	t.Helper()
	b := own(t, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}})
	require.NoError(t, b.controller.Kill())
	front := shim.Run(t, b.HubURL, b.HubCA)
	url, ca := b.HubURL, b.HubCA
	b.HubURL, b.HubCA = front.URL(), front.CA()
	b.Env = stage.Election(90*time.Second, 80*time.Second, time.Second)
	b.restartController(t)
	b.HubURL, b.HubCA, b.Env = url, ca, election
	return b, front
}

// What the hub could not see is no silence of its agents: not one of them is imported again.
func TestAnOutageOfTheHubsOwnImportsNobodyAgain(t *testing.T) {
	b, front := ownBehindShim(t)
	places := []place{newPlace(), newPlace()}
	for n, p := range places {
		b.manage(t, p, "edge")
		b.agent(t, p, fmt.Sprintf("agent-%d", n))
	}
	for _, p := range places {
		b.connected(t, p, "edge")
	}
	stop := func(signal syscall.Signal) { require.NoError(t, syscall.Kill(b.controller.PID(), signal)) }
	t.Cleanup(func() { _ = syscall.Kill(b.controller.PID(), syscall.SIGCONT) })
	for _, fault := range []struct {
		name        string
		begin, ends func()
	}{
		{"refused", front.Refuse, func() { require.NoError(t, front.Pass()) }},
		{"no answer", func() { require.NoError(t, front.BlackHole()) }, func() { require.NoError(t, front.Pass()) }},
		{"the process stopped", func() { stop(syscall.SIGSTOP) }, func() { stop(syscall.SIGCONT) }},
	} {
		since := map[place]string{}
		for _, p := range places {
			since[p] = stage.Condition(b.connected(t, p, "edge").Status.Conditions, fleet.ClusterConditionAgentConnected).LastTransitionTime
		}
		stage.AwaitQuiet(t, patience, b.edge, count.By("fleet-controller"))
		before, err := b.edge.Requests()
		require.NoError(t, err)

		fault.begin()
		time.Sleep(outage) // the outage
		fault.ends()
		time.Sleep(settling) // the window in which nobody may be called silent, or imported

		after, err := b.edge.Requests()
		require.NoError(t, err)
		calls := after.Sub(before).Where(count.By("fleet-controller"))
		require.Zero(t, calls.Total(), "%s: the hub went to the cluster:\n%s", fault.name, calls)
		require.True(t, b.controller.Running(), "%s: the hub ended\n%s", fault.name, b.controller.Tail(20))
		for _, p := range places {
			connected := stage.Condition(b.connected(t, p, "edge").Status.Conditions, fleet.ClusterConditionAgentConnected)
			require.Equal(t, since[p], connected.LastTransitionTime, "%s: the agent was called silent", fault.name)
		}
	}
}

// The hub is back in touch and sees: an agent that ended meanwhile is silent after a fresh grace, and put there again.
func TestAnAgentThatEndsDuringAnOutageOfTheHubsIsPutThereAgain(t *testing.T) {
	b, front := ownBehindShim(t)
	p := newPlace()
	b.manage(t, p, "edge")
	agent := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")

	front.Refuse()
	require.NoError(t, agent.Kill())
	time.Sleep(outage) // the outage
	before, err := b.edge.Requests()
	require.NoError(t, err)
	require.NoError(t, front.Pass())

	_, err = b.AwaitCluster(until(t), p.workspace, "edge", "silent", func(c *fleet.Cluster) bool {
		connected := stage.Condition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return connected != nil && connected.Reason == "Silent"
	})
	require.NoError(t, err)
	await(t, "the hub to put the agent there again", func(ctx context.Context) (bool, string, error) {
		now, err := b.edge.Requests()
		writes := now.Sub(before).Where(count.By("fleet-controller"), count.Key.Write)
		return writes.Total() > 0, writes.String(), err
	})
}
