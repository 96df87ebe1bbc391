package badinput_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// A hub that starts while its configuration cannot be read knows nothing of what was in force. It must not take its own
// defaults for what somebody wants: the agents that run would be rolled, to another image, by a typing error.
func TestAHubThatStartsWithoutAConfigurationChangesNoAgent(t *testing.T) {
	b := ofTheBed(t)
	tb := b.table(t, "bad-start", []row{{name: "steady", spoil: func(*input) {}}})
	tb.give(t)
	namespace := tb.good["steady"].spec.AgentNamespace
	agent, err := tb.StartAgent(until(t), tb.edge, namespace, "agent-"+namespace)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := agent.Stop(grace)
		require.NoError(t, err)
	})
	_, err = tb.AwaitConnected(until(t), tb.workspace, "steady")
	require.NoError(t, err)
	var before *fleet.Bundle
	await(t, "the bundle of the agent", func(ctx context.Context) (bool, string, error) {
		before, err = stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, tb.workspace, names.AgentBundle("steady"))
		return before != nil, "none", err
	})
	registration := tb.registration(t)
	good := b.hubConfig(t)
	t.Cleanup(func() { b.restoreConfig(t, good) })

	b.writeConfig(t, hubRow{document: "apiServerURL: ["}.apply(t, good))
	_, err = b.controller.Stop(grace)
	require.NoError(t, err)
	from := b.logged(t)
	b.controller, err = b.StartController(until(t))
	require.NoError(t, err)
	b.hubSaid(t, from, "Configuration is not taken", "ConfigMap cattle-fleet-system/fleet-controller")
	b.hubSaid(t, from, "does nothing before it has a configuration", `key "config"`)
	calls := b.observe().of("fleet-controller", func(r shim.Request) bool { return r.Verb != "watch" })
	require.LessOrEqual(t, len(calls), 2, "requests of a hub that waits, within %s:\n%s", window, strings.Join(calls, "\n"))
	after, err := stage.Get[fleet.Bundle](t.Context(), b.Hub, stage.Bundles, tb.workspace, names.AgentBundle("steady"))
	require.NoError(t, err)
	require.NotNil(t, after, "the bundle of the agent is gone")
	require.Equal(t, before.Spec, after.Spec, "the agent would be rolled")
	require.Equal(t, registration, tb.registration(t))

	from = b.logged(t)
	b.writeConfig(t, good)
	b.hubSaid(t, from, "Configuration loaded")
	b.hubSaid(t, from, "All controllers run")
	_, err = tb.AwaitConnected(until(t), tb.workspace, "steady")
	require.NoError(t, err)
	require.Equal(t, registration, tb.registration(t))
}
