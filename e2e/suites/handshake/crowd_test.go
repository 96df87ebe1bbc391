package handshake

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/bench/join"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// crowdPatience bounds the join of all, which is limited by what the machine can do.
const crowdPatience = 10 * time.Minute

// R21: many agents register at the same moment. All succeed, each has a Cluster, a namespace and an account of its own, and
// there is nothing twice.
func TestManyAgentsThatRegisterAtOnceAllSucceed(t *testing.T) {
	hub := lab.New(t) // of its own: what so many clusters leave to be removed would be in the way of other tests
	b := newBed(t, hub, hub, withoutLocal)
	b.started(t)
	p := b.ownWorkspace(t)
	n := reduced(t, "agents at once:", 100, 500)
	ctx, cancel := context.WithTimeout(t.Context(), crowdPatience)
	defer cancel()
	values, err := b.NewToken(ctx, p.workspace, p.token, fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)

	outcomes, err := join.Together(ctx, values, "crowd", n)
	require.NoError(t, err)
	clusters, namespaces, requests := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, o := range outcomes {
		require.Equal(t, names.RegisteredCluster(fmt.Sprintf("crowd-%d", i)), o.Cluster)
		clusters[o.Cluster], namespaces[o.Namespace], requests[o.Request] = true, true, true
	}
	require.Len(t, clusters, n)
	require.Len(t, namespaces, n)
	require.NoError(t, stage.AwaitEvery(ctx, time.Second, "all registrations to be in use", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		used := 0
		for _, r := range list {
			if requests[r.Name] && stage.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed) {
				used++
			}
		}
		return used == n && len(list) == n, fmt.Sprintf("%d registrations, %d in use", len(list), used), err
	}))
	list, err := stage.List[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.workspace)
	require.NoError(t, err)
	require.Len(t, list, n)
	accounts, err := b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).List(ctx, metav1.ListOptions{LabelSelector: names.ManagedLabel})
	require.NoError(t, err)
	mine := 0
	for _, account := range accounts.Items {
		if account.Annotations[names.ClusterNamespaceAnnotation] == p.workspace {
			mine++
		}
	}
	require.Equal(t, n, mine, "request accounts")
}
