package badinput_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Names and labels as long, as large and as many as the API server takes them: clusters that have them join.
func TestClustersWithTheLargestNamesAndLabelsJoin(t *testing.T) {
	b := ofTheBed(t)
	long := strings.Repeat("l", 63)
	workspace := "large-" + strings.Repeat("w", 57)
	require.Len(t, workspace, 63)
	labels := 3500 // more than a megabyte: with twice as many the API server refuses the object
	if !full() {
		labels = 1000
		t.Logf("reduced: a Cluster with %d labels instead of 3500; FLEET_TEST_FULL=1 has all", labels)
	}
	tb := b.table(t, workspace, []row{
		{name: long + "." + long + "." + long + "." + long[:61], spoil: func(*input) {}, joins: true},
		{name: "many-labels", spoil: labelled(65, 10), joins: true},
		{name: "huge-labels", spoil: labelled(labels, 63), joins: true},
	})
	require.Len(t, tb.rows[0].name, 253)
	tb.give(t)
	for _, r := range tb.rows {
		namespace := tb.good[r.name].spec.AgentNamespace
		agent, err := tb.StartAgent(until(t), tb.edge, namespace, "agent-"+namespace)
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := agent.Stop(grace)
			require.NoError(t, err)
			soundLog(t, agent)
		})
	}
	for _, r := range tb.rows {
		_, err := tb.AwaitConnected(until(t), tb.workspace, r.name)
		require.NoError(t, err)
		await(t, "the bundle of the agent of "+r.name[:10], func(ctx context.Context) (bool, string, error) {
			bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, tb.workspace, names.AgentBundle(r.name))
			return bundle != nil, "none", err
		})
	}
	await(t, "the hub to have cleared up after the joins", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, tb.workspace)
		for _, request := range list {
			ready := stage.Condition(request.Status.Conditions, fleet.RegistrationConditionCredentialReady)
			if ready == nil || ready.Reason != "InUse" {
				return false, stage.Conditions(request.Status.Conditions), err
			}
		}
		return len(list) == len(tb.rows), fmt.Sprintf("%d requests", len(list)), err
	})
	tb.rest(t, 0)
}
