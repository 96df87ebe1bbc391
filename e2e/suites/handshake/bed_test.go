package handshake

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// betweenLooks is the pause between two looks at all objects of an API server, which keep it busy.
	betweenLooks = 200 * time.Millisecond
	// stillness is how long nothing must change until a control plane counts as complete.
	stillness = 1500 * time.Millisecond
)

// workspace is that of all clusters which are not the hub itself.
const workspace = "sweep"

// withoutLocal are the chart's values of a hub that does not register itself.
var withoutLocal = map[string]any{"bootstrap": map[string]any{"enabled": false, "namespace": ""}}

// bed is a hub and a downstream cluster behind shims, which see every request of controller and agents.
type bed struct {
	*stage.Stage
	hubFront *shim.TLS
	// edge and edgeFront are the hub itself where it is the cluster that joins.
	edge       *stage.Cluster
	edgeFront  *shim.TLS
	controller *actor
	places     atomic.Int32
}

// newBed installs a hub for one test; its controller does not run yet.
func newBed(t *testing.T, hub, edge *lab.ControlPlane, values map[string]any) *bed {
	t.Helper()
	b := raise(t, hub, edge, values, func(plane *lab.ControlPlane) *shim.TLS { return shim.Run(t, plane.URL, plane.CA()) })
	b.explain(t)
	t.Cleanup(func() {
		for _, p := range b.Processes() {
			if err := p.Kill(); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
	return b
}

// raise installs a hub behind a shim.
func raise(t *testing.T, hub, edge *lab.ControlPlane, values map[string]any, shimBefore func(*lab.ControlPlane) *shim.TLS) *bed {
	t.Helper()
	s, err := stage.NewForSuite(hub)
	require.NoError(t, err)
	b := &bed{Stage: s, hubFront: shimBefore(hub)}
	s.HubURL, s.HubCA = b.hubFront.URL(), b.hubFront.CA()
	s.Hub.Front = &stage.Front{URL: s.HubURL, CA: s.HubCA}
	b.edge, b.edgeFront = s.Hub, b.hubFront
	if edge != hub {
		b.edge, err = stage.Attach(edge)
		require.NoError(t, err)
		b.edgeFront = shimBefore(edge)
		b.edge.Front = &stage.Front{URL: b.edgeFront.URL(), CA: b.edgeFront.CA()}
	}
	all := map[string]any{"agentHeartbeatInterval": heartbeat}
	maps.Copy(all, values)
	require.NoError(t, s.InstallHub(until(t), all))
	b.controller = &actor{start: func(ctx context.Context) (*proc.Process, error) { return s.StartController(ctx) }}
	return b
}

// explain shows the end of the controller's log if the test fails.
func (b *bed) explain(t *testing.T) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of the controller's log\n%s", b.controller.tail(80))
		}
	})
}

// place is what one cluster is called; every run has another.
type place struct {
	tag, workspace, cluster, agents, client, token string
}

// kubeconfig is the secret that leads the hub to the cluster.
func (p place) kubeconfig() string { return "kubeconfig-" + p.tag }

// agentsPrefix begins the names of all agent namespaces.
const agentsPrefix = "agents-"

// localPrefix begins the names of all local workspaces.
const localPrefix = "local-"

// newPlace makes names of equal length, so that those which are shortened read alike.
func (b *bed) newPlace() place {
	tag := fmt.Sprintf("p%03dx", b.places.Add(1))
	return place{tag: tag, workspace: workspace, cluster: "edge-" + tag, agents: agentsPrefix + tag, client: "client-" + tag, token: "token-" + tag}
}

// front is the shim before a server.
func (b *bed) front(at string) *shim.TLS {
	if at == atHub {
		return b.hubFront
	}
	return b.edgeFront
}

// namespace makes a namespace and waits for what Kubernetes puts into each.
func namespace(t *testing.T, c *stage.Cluster, name string) {
	t.Helper()
	_, err := c.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	await(t, "what Kubernetes puts into namespace "+name, func(ctx context.Context) (bool, string, error) {
		if _, err := c.Kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return false, "", err
		}
		_, err := c.Kube.CoreV1().ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil, "", err
	})
}

// started runs the controller and waits for what it makes at its start.
func (b *bed) started(t *testing.T) {
	t.Helper()
	require.NoError(t, b.controller.up(until(t)))
	await(t, "what the hub makes at its start", func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Kube.RbacV1().ClusterRoleBindings().Get(ctx, names.ContentClusterRoleBinding, metav1.GetOptions{})
		return err == nil, "", err
	})
}

// dropAgent removes what an agent leaves on its cluster; no Cluster's end does that.
func (b *bed) dropAgent(t *testing.T, p place) {
	t.Helper()
	kube := b.edge.Kube
	for _, err := range []error{
		kube.CoreV1().Namespaces().Delete(t.Context(), p.agents, metav1.DeleteOptions{}),
		kube.RbacV1().ClusterRoles().Delete(t.Context(), names.AgentRole(p.agents), metav1.DeleteOptions{}),
		kube.RbacV1().ClusterRoleBindings().Delete(t.Context(), names.AgentRoleBinding(p.agents), metav1.DeleteOptions{}),
	} {
		if !apierrors.IsNotFound(err) {
			require.NoError(t, err)
		}
	}
}

// inNamespaceOfARun picks namespaces of single runs and what lies in them: Kubernetes takes seconds to delete a namespace.
func inNamespaceOfARun(key stage.Key) bool {
	name := key.Namespace
	if key.Kind == "Namespace" {
		name = key.Name
	}
	for _, prefix := range []string{"cluster-", agentsPrefix, localPrefix} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// awaitJoined waits for the end of a handshake by what is cheap to be looked at.
func (b *bed) awaitJoined(t *testing.T, p place) {
	t.Helper()
	await(t, "a cluster that is connected and whose handshake is over", func(ctx context.Context) (bool, string, error) {
		requests, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		if err != nil || len(requests) == 0 {
			return false, "no request", err
		}
		for _, r := range requests {
			ready := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
			if ready == nil || ready.Reason != "InUse" {
				return false, describe(r), nil
			}
		}
		clusters, err := stage.List[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.workspace)
		if err != nil || len(clusters) != 1 {
			return false, fmt.Sprintf("%d clusters", len(clusters)), err
		}
		return stage.Connected(&clusters[0]), stage.Conditions(clusters[0].Status.Conditions), nil
	})
}
