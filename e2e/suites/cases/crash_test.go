package cases

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// importWrites is how many writes an import makes downstream at the most; the sweep ends where there are no more.
const importWrites = 20

// R23: the controller is killed in the middle of each of its calls to the downstream cluster, before the call arrives and
// after it was carried out. Each time a new one brings the import to its end, and the cluster joins once.
func TestAnImportThatWasKilledAnywhereIsCompleted(t *testing.T) {
	b := own(t, map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}})
	stride := times(t, 4, 1)
	front := shim.Run(t, b.edge.URL, b.edge.CA())
	for n := 1; n <= importWrites; n += stride {
		for _, fault := range []shim.Fault{shim.HangBefore, shim.HangAnswer} {
			if !b.killAtWrite(t, front, n, fault) {
				t.Logf("an import makes fewer than %d writes", n)
				return
			}
		}
	}
}

// killAtWrite imports a cluster, kills the controller in its n-th write and starts another. It reports whether there was
// an n-th write.
func (b *bed) killAtWrite(t *testing.T, front *shim.TLS, n int, fault shim.Fault) bool {
	t.Helper()
	p := newPlace()
	injection := front.FaultNth(n, fault, shim.Writes)
	defer injection.Remove()
	b.workspace(t, p.workspace)
	b.writeKubeconfigThrough(t, p.workspace, "edge", front)
	b.writeCluster(t, p, "edge")

	reached := true
	select {
	case <-injection.Done():
		require.NoError(t, b.controller.Kill())
		injection.Remove()
		b.restartController(t)
	case <-b.importDone(t, p):
		reached = false
	}
	b.imported(t, p, "edge", "Imported")
	agent := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	requests := b.requests(t, p.workspace)
	require.Len(t, requests, 1, "write %d: %s", n, describe(requests))
	requireCleanExit(t, agent)
	b.deleteCluster(t, p.workspace, "edge")
	return reached
}

// importDone is closed when the import has succeeded.
func (b *bed) importDone(t *testing.T, p place) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	ctx := until(t)
	go func() {
		_, err := b.AwaitCluster(ctx, p.workspace, "edge", "Imported", func(c *fleet.Cluster) bool {
			return stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionImported)
		})
		if err == nil {
			close(done)
		}
	}()
	return done
}

// writeKubeconfigThrough is a kubeconfig that leads through a shim.
func (b *bed) writeKubeconfigThrough(t *testing.T, workspace, name string, front *shim.TLS) {
	t.Helper()
	token, err := b.edge.AdminToken()
	require.NoError(t, err)
	kubeconfig, err := lab.Kubeconfig{Name: "edge", Server: front.URL(), CA: front.CA(), Token: token}.Bytes()
	require.NoError(t, err)
	secret, err := stage.KubeconfigSecret(b.edge, workspace, kubeconfigOf(name))
	require.NoError(t, err)
	secret.Data["value"] = kubeconfig
	_, err = b.Hub.Kube.CoreV1().Secrets(workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}
