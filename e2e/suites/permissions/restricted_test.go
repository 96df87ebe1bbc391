package permissions_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const limited = "limited"

// limitedRules are those of docs/security.md.
var limitedRules = []any{map[string]any{
	"apiGroups": []any{""}, "resources": []any{"configmaps", "secrets"},
	"verbs": []any{"get", "list", "watch", "create", "update", "patch", "delete"},
}}

// An agent may be given less than everything (value agent.rules): it registers, deploys what its rules allow, and says of the
// rest what it may not. The hub's own cluster is the one that it is on.
func TestAnAgentWithRulesOfItsOwnDoesWhatTheyAllow(t *testing.T) {
	b := ofTheBed(t)
	ctx := stage.Until(t, 2*patience)
	require.NoError(t, stage.Create(ctx, b.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: limited, Labels: map[string]string{names.NonManagedAgentLabel: "true"}},
		Spec:       fleet.ClusterSpec{ClientID: "client-that-is-limited"},
	}))
	values, err := b.NewToken(ctx, stage.Workspace, limited, fleet.ClusterRegistrationTokenSpec{ClusterName: limited})
	require.NoError(t, err)
	require.NoError(t, b.JoinByAgent(ctx, b.Hub, values, map[string]any{
		"clientID": "client-that-is-limited", "agentHeartbeatInterval": heartbeat, "agent": map[string]any{"rules": limitedRules},
	}))
	agent, err := b.StartAgent(ctx, b.Hub, stage.SystemNamespace, "agent-limited-0")
	require.NoError(t, err)
	agent.EndWithTest(t)
	_, err = b.AwaitConnected(ctx, stage.Workspace, limited)
	require.NoError(t, err)

	require.NoError(t, b.EnsureNamespace(ctx, limited))
	b.deployLimited(t, "allowed", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed}\ndata: {key: value}\n")
	await(t, "what the rules allow", func(ctx context.Context) (bool, string, error) {
		made, err := b.Hub.Kube.CoreV1().ConfigMaps(limited).Get(ctx, "allowed", metav1.GetOptions{})
		return err == nil && made.Data["key"] == "value", "not there", err
	})
	b.awaitLimited(t, "allowed", func(ready corev1.ConditionStatus, _ string) bool { return ready == corev1.ConditionTrue })

	b.deployLimited(t, "forbidden", "apiVersion: v1\nkind: Service\nmetadata: {name: forbidden}\nspec: {ports: [{port: 80}]}\n")
	b.awaitLimited(t, "forbidden", func(ready corev1.ConditionStatus, message string) bool {
		return ready == corev1.ConditionFalse && strings.Contains(message, "forbidden")
	})
	_, err = b.Hub.Kube.CoreV1().Services(limited).Get(t.Context(), "forbidden", metav1.GetOptions{})
	assert.Error(t, err)
}

// deployLimited gives a bundle of one manifest to the cluster.
func (b *bed) deployLimited(t *testing.T, name, manifest string) {
	t.Helper()
	bundle := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: limited + "-" + name}}
	bundle.Spec.DefaultNamespace = limited
	bundle.Spec.Resources = []fleet.BundleResource{{Name: name + ".yaml", Content: manifest}}
	bundle.Spec.Targets = []fleet.BundleTarget{{ClusterName: limited}}
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle))
}

// awaitLimited waits for what a bundle says of itself.
func (b *bed) awaitLimited(t *testing.T, name string, done func(corev1.ConditionStatus, string) bool) {
	t.Helper()
	await(t, "the state of bundle "+name, func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, limited+"-"+name)
		if err != nil || bundle == nil {
			return false, "no bundle", err
		}
		ready := stage.Condition(bundle.Status.Conditions, "Ready")
		return ready != nil && done(ready.Status, ready.Message), stage.Conditions(bundle.Status.Conditions), nil
	})
}
