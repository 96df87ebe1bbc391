package registration_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// Two hubs: one leads, the other stands by and takes over when the leader crashes; a leader that is asked to end hands
// over at once.
func TestAStandbyTakesOverAndAClusterJoinsUnderIt(t *testing.T) {
	y := ofTheYard(t)
	y.workspace(t, "failover")
	secret, err := stage.KubeconfigSecret(y.edge, "failover", "after-failover")
	require.NoError(t, err)
	_, err = y.Hub.Kube.CoreV1().Secrets("failover").Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	y.leaveAsFound(t)
	y.awaitHolder(t, "controller")

	health := stage.FreeAddress(t)
	standby, err := y.StartControllerAs(until(t, patience), "controller-b", "--health-bind-address", health)
	require.NoError(t, err)
	t.Cleanup(func() {
		if standby.Running() {
			require.NoError(t, standby.Kill())
		}
	})
	awaitReady(t, health)
	require.Equal(t, "controller", ptr.Deref(y.lease(t).Spec.HolderIdentity, ""), "the standby stands by")

	require.NoError(t, y.controller.Kill())
	y.awaitHolder(t, "controller-b")
	awaitReady(t, health)
	y.writeCluster(t, "failover", "after-failover", "failover-system")
	t.Cleanup(func() { y.delete(t, "failover", "after-failover") })
	y.agent(t, "failover-system", "agent-failover")
	y.connected(t, "failover", "after-failover")

	code, err := standby.Stop(grace)
	require.NoError(t, err)
	require.Zero(t, code, "exit code after SIGTERM; the end of the log:\n%s", standby.Tail(20))
	require.Empty(t, ptr.Deref(y.lease(t).Spec.HolderIdentity, ""), "the lease is given up")
	y.controller, err = y.StartController(until(t, patience))
	require.NoError(t, err)
	y.awaitHolder(t, "controller")
	y.connected(t, "failover", "after-failover")
}

func (b *bed) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := b.Hub.Kube.CoordinationV1().Leases(stage.SystemNamespace).Get(t.Context(), names.ControllerLease, metav1.GetOptions{})
	require.NoError(t, err)
	return lease
}

func (b *bed) awaitHolder(t *testing.T, pod string) {
	t.Helper()
	await(t, "pod "+pod+" to lead", func(context.Context) (bool, string, error) {
		holder := ptr.Deref(b.lease(t).Spec.HolderIdentity, "nobody")
		return holder == pod, holder + " leads", nil
	})
}

// awaitReady waits for the readiness probe of a process.
func awaitReady(t *testing.T, address string) {
	t.Helper()
	await(t, "http://"+address+"/readyz", func(ctx context.Context) (bool, string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return false, "", err
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, "", err
		}
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK, reply.Status, nil
	})
}
