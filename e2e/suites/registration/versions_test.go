package registration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// older is the Kubernetes line before the lab's own.
const older = "1.36"

func TestAnOlderKubernetesIsAGoodHub(t *testing.T) {
	y := ofTheYard(t)
	b, err := newBed(until(t, patience), olderCluster(t), withoutLocal)
	require.NoError(t, err)
	b.explain(t)
	b.controller, err = b.StartController(until(t, patience))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.StopProcesses(grace)) })
	values := b.prepareBothWays(t, y.edge)
	b.joinBothWays(t, y.edge, values)
	// The older one checks what requests say as well, and the hub knows it.
	b.awaitOrigin(t, versionsWorkspace, byAgent, corev1.ConditionTrue, registration.ProvenanceInForce)
	a := b.applicantIn(t, versionsWorkspace, names.ImportToken(byManager), values["token"].(string), "client")
	a.turnedAway(t, "names token "+names.ImportToken(byManager))
}

func TestAnOlderKubernetesJoinsANewerHub(t *testing.T) {
	y, edge := ofTheYard(t), olderCluster(t)
	values := y.prepareBothWays(t, edge)
	y.leaveAsFound(t)
	y.joinBothWays(t, edge, values)
	for _, name := range []string{byManager, byAgent} {
		y.delete(t, versionsWorkspace, name)
	}
}

// olderCluster is a control plane of the older line, which is built if it has to be: that takes minutes.
func olderCluster(t *testing.T) *stage.Cluster {
	t.Helper()
	built, err := lab.Built(repository, older)
	require.NoError(t, err)
	if !built {
		t.Logf("Kubernetes %s is not built yet, that takes about ten minutes", older)
	}
	edge := clusters(t, audited("older", lab.WithVersion(older)))[0]
	version, err := edge.Kube.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Regexp(t, `^v1\.36\.`, version.GitVersion)
	return edge
}

// Names of the workspace and of the clusters in it, by the way in which they join.
const (
	versionsWorkspace = "versions"
	byManager         = "by-manager"
	byAgent           = "by-agent"
)

// prepareBothWays writes what a person writes before clusters join: a registration token and a kubeconfig secret.
func (b *bed) prepareBothWays(t *testing.T, edge *stage.Cluster) (values map[string]any) {
	t.Helper()
	b.workspace(t, versionsWorkspace)
	values, err := b.NewToken(until(t, patience), versionsWorkspace, byAgent, fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: byAgent,
	})
	require.NoError(t, err)
	secret, err := stage.KubeconfigSecret(edge, versionsWorkspace, byManager)
	require.NoError(t, err)
	_, err = b.Hub.Kube.CoreV1().Secrets(versionsWorkspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	return values
}

// joinBothWays has a cluster join a hub by import and by itself, at the same time.
func (b *bed) joinBothWays(t *testing.T, edge *stage.Cluster, values map[string]any) {
	t.Helper()
	require.NoError(t, b.JoinByAgent(until(t, patience), edge, values, map[string]any{"agentHeartbeatInterval": heartbeat}))
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", versionsWorkspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: versionsWorkspace, Name: byManager},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: byManager, AgentNamespace: "by-manager-system"},
	}))
	for name, namespace := range map[string]string{byManager: "by-manager-system", byAgent: stage.SystemNamespace} {
		p, err := b.StartAgent(until(t, patience), edge, namespace, "agent-"+name)
		require.NoError(t, err)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("--- the end of the log of %s\n%s", p.Name, p.Tail(40))
			}
			if p.Running() {
				_, err := p.Stop(grace)
				require.NoError(t, err)
			}
		})
	}
	for _, name := range []string{byManager, byAgent} {
		b.connected(t, versionsWorkspace, name)
	}
}
