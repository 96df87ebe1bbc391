package delivery_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// settled waits until the bundle of an agent is ready as the hub wants it.
func (b *bed) settled(t *testing.T, name, digest string) {
	t.Helper()
	b.awaitBundle(t, name, "as the hub wrote it, and ready", func(bundle *fleet.Bundle) bool {
		return (digest == "" || agentbundle.Digest(bundle.Spec) == digest) && bundle.Status.ObservedGeneration == bundle.Generation &&
			bundle.Status.Summary.Ready == 1 && stage.IsTrue(bundle.Status.Conditions, "Ready")
	})
}

// Attack 19: who may write Bundles in a workspace changes that of an agent, to have something run with the agent's rights. No
// deployment is made of it, it is put back whole, and it is said.
func TestAnAgentsBundleThatATenantChangesReachesNoCluster(t *testing.T) {
	b := theBed(t)
	name := names.AgentBundle(one)
	b.settled(t, name, "")
	before, err := b.bundle(t.Context(), name)
	require.NoError(t, err)
	digest := agentbundle.Digest(before.Spec)
	bd, err := b.deployment(t.Context(), name, one)
	require.NoError(t, err)
	require.NotNil(t, bd)

	const evil = `[{"name":"evil.yaml","content":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\ndata: {value: here}\n"}]`
	for what, patch := range map[string]string{
		"resources": fmt.Sprintf(`{"spec":{"resources":%s}}`, evil),
		"a chart":   `{"spec":{"helm":{"repo":"https://127.0.0.1:1","chart":"evil"}}}`,
		"an order":  `{"spec":{"dependsOn":[{"name":"evil"}]}}`,
		"everything, and what the hub notes of it": fmt.Sprintf(
			`{"metadata":{"annotations":{%q:null,"objectset.rio.cattle.io/applied":null}},"spec":{"resources":%s,"helm":{"takeOwnership":false,"values":{"a":1}},"targets":[{"clusterName":%q}]}}`,
			names.AgentUpgradeAnnotation, evil, one),
	} {
		t.Log(what)
		b.change(t, name, patch)
		b.settled(t, name, digest)
		after, err := b.deployment(t.Context(), name, one)
		require.NoError(t, err)
		require.NotNil(t, after, what)
		require.Equal(t, bd.UID, after.UID, what)
		require.Equal(t, bd.Generation, after.Generation, "%s: nothing was written to what the agent follows", what)
		require.Equal(t, bd.Spec, after.Spec, what)
	}
	got, err := b.value(t.Context(), one, bd.Spec.Options.DefaultNamespace, "evil")
	require.NoError(t, err)
	require.Empty(t, got)
	await(t, "an Event that tells of it", func(ctx context.Context) (bool, string, error) {
		events, err := b.Hub.Kube.CoreV1().Events(stage.Workspace).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=AgentBundleChanged,involvedObject.kind=Cluster,type=" + corev1.EventTypeWarning,
		})
		return err == nil && len(events.Items) > 0, "there is none", err
	})
}
