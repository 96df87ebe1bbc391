package rancher_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// registrations are the UIDs of the downstream cluster's registrations.
func (b *bed) registrations(t *testing.T) map[types.UID]bool {
	t.Helper()
	list, err := stage.List[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, b.downstream.Workspace)
	require.NoError(t, err)
	found := map[types.UID]bool{}
	for _, r := range list {
		if r.Status.ClusterName == b.downstream.Name {
			found[r.UID] = true
		}
	}
	return found
}

// watchConnection says at the end whether the cluster was ever not connected.
func (b *bed) watchConnection(t *testing.T) (lost func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watching, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(b.downstream.Workspace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + b.downstream.Name})
	require.NoError(t, err)
	result := make(chan bool, 1)
	go func() {
		ever := false
		for event := range watching.ResultChan() {
			c := &fleet.Cluster{}
			u, ok := event.Object.(*unstructured.Unstructured)
			if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, c) == nil {
				ever = ever || !stage.Connected(c)
			}
		}
		result <- ever
	}()
	return func() bool { cancel(); return <-result }
}

// Rancher deletes the kubeconfig secret and makes it anew, with another token, another address or another CA, whenever it
// likes. The agent that is registered does not notice, and the hub uses what is new.
func TestTheKubeconfigSecretIsMadeAnew(t *testing.T) {
	b := theBed(t)
	before, registered := b.get(t, b.downstream), b.registrations(t)
	require.NotEmpty(t, registered)
	lost := b.watchConnection(t)
	gone := func() { // an observation window
		deadline := time.Now().Add(window)
		await(t, "the secret is missing for a while", func(context.Context) (bool, string, error) {
			return time.Now().After(deadline), "", nil
		})
	}
	token := b.access(t, b.edge, "rancher-2")
	require.NoError(t, b.rancher.WriteKubeconfig(t.Context(), b.downstream, token, gone))
	require.NoError(t, b.edge.Kube.CoreV1().ServiceAccounts(accountNamespace).Delete(t.Context(), "rancher-1", metav1.DeleteOptions{}))
	address := token
	address.Server = strings.Replace(token.Server, "127.0.0.1", "localhost", 1)
	require.NotEqual(t, token.Server, address.Server)
	require.NoError(t, b.rancher.WriteKubeconfig(t.Context(), b.downstream, address, gone))
	ca := address
	ca.CA = append(append([]byte{}, b.HubCA...), address.CA...)
	require.NoError(t, b.rancher.WriteKubeconfig(t.Context(), b.downstream, ca, gone))
	gone()
	assert.False(t, lost(), "the cluster was called not connected")
	assert.Equal(t, registered, b.registrations(t), "nothing was registered anew")
	after := b.get(t, b.downstream)
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Spec.ClientID, after.Spec.ClientID)
	assert.True(t, stage.IsTrue(after.Status.Conditions, fleet.ClusterConditionImported), stage.Conditions(after.Status.Conditions))

	// That the hub uses the new one shows when somebody forces an update: the old account is gone.
	b.patch(t, b.downstream, `{"spec":{"redeployAgentGeneration":77}}`)
	b.awaitRedeployed(t, b.downstream)
}
