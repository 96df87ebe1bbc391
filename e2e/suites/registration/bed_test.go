package registration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// bed is a hub with its controller.
type bed struct {
	*stage.Stage
	controller *proc.Process
}

// plane is a control plane that tests share.
type plane struct {
	name    string
	options []lab.Option
}

func audited(name string, more ...lab.Option) plane {
	return plane{name: name, options: append(more, lab.WithAudit())}
}

// clusters starts control planes, all at once, and keeps them until the package's tests have ended.
func clusters(t *testing.T, planes ...plane) []*stage.Cluster {
	t.Helper()
	shared := make([]stage.SharedPlane, 0, len(planes))
	for _, p := range planes {
		shared = append(shared, stage.SharedPlane{Name: p.name, Options: p.options})
	}
	return stage.SharedClusters(t, shared...)
}

// newBed is a hub on a control plane, with its charts installed and without its controller.
func newBed(ctx context.Context, hub *stage.Cluster, values map[string]any) (*bed, error) {
	s, err := stage.NewForSuite(hub.ControlPlane)
	if err != nil {
		return nil, err
	}
	s.Env = election
	all := map[string]any{"agentHeartbeatInterval": heartbeat}
	for key, value := range values {
		all[key] = value
	}
	return &bed{Stage: s}, s.InstallHub(ctx, all)
}

// explain shows the ends of the logs if the test fails.
func (b *bed) explain(t *testing.T) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, p := range b.Processes() {
			if p.Running() {
				t.Logf("--- the end of the log of %s\n%s", p.Name, p.Tail(40))
			}
		}
	})
}

// connected waits until a cluster is registered and connected.
func (b *bed) connected(t *testing.T, workspace, name string) *fleet.Cluster {
	t.Helper()
	cluster, err := b.AwaitConnected(until(t, patience), workspace, name)
	require.NoError(t, err)
	return cluster
}

// requests are the registration requests of a cluster.
func (b *bed) requests(t *testing.T, workspace, cluster string) []fleet.ClusterRegistration {
	t.Helper()
	all, err := stage.List[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, workspace)
	require.NoError(t, err)
	var own []fleet.ClusterRegistration
	for _, r := range all {
		if r.Status.ClusterName == cluster {
			own = append(own, r)
		}
	}
	return own
}

// workspace makes a workspace for a test, with what Kubernetes puts into every namespace.
func (b *bed) workspace(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, b.EnsureNamespace(t.Context(), name))
	await(t, "what every namespace has in "+name, func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		_, err = b.Hub.Kube.CoreV1().ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, "", err
	})
}

// snapshot is all that a cluster has now.
func snapshot(t *testing.T, c *stage.Cluster) stage.Snapshot {
	t.Helper()
	s, err := c.Snapshot(t.Context())
	require.NoError(t, err)
	return s
}
