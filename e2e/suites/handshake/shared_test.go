package handshake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var (
	sharedBed  *bed
	sharedOnce sync.Once
)

// shared is the bed that tests have in common which disturb nobody: each keeps to a workspace of its own. The hub plays
// the downstream cluster as well; their agents lie in namespaces of their own.
func shared(t *testing.T) *bed {
	t.Helper()
	hub := lab.Shared(t, "hub")
	sharedOnce.Do(func() {
		b := raise(t, hub, hub, withoutLocal, func(plane *lab.ControlPlane) *shim.TLS {
			front, err := shim.NewTLS(plane.URL, plane.CA()) // as long as the hub
			require.NoError(t, err)
			return front
		})
		b.started(t)
		sharedBed = b
	})
	require.NotNil(t, sharedBed, "the shared hub did not start; see the first test that needed it")
	sharedBed.explain(t)
	require.NoError(t, sharedBed.controller.up(until(t)))
	return sharedBed
}

// ownWorkspace is a place in a workspace that no other test uses.
func (b *bed) ownWorkspace(t *testing.T) place {
	t.Helper()
	p := b.newPlace()
	p.workspace = "ws-" + p.tag
	require.NoError(t, b.EnsureNamespace(t.Context(), p.workspace))
	return p
}

// join lets a cluster join in one of the ways, and takes it away at the end of the test.
func (b *bed) join(t *testing.T, w way, p place) *actor {
	t.Helper()
	w.prepare(t, b, p)
	w.begin(t, b, p)
	w.beforeAgent(t, b, p)
	agent := b.agent(t, w, p)
	t.Cleanup(func() {
		if !t.Failed() {
			b.discard(t, p)
		}
	})
	b.connected(t, p)
	return agent
}

// agent runs the agent of a place until the end of the test.
func (b *bed) agent(t *testing.T, w way, p place) *actor {
	t.Helper()
	return b.run(t, w.agent(b, p))
}

// run keeps a process until the end of the test.
func (b *bed) run(t *testing.T, start func(context.Context) (*proc.Process, error)) *actor {
	t.Helper()
	a := &actor{start: start}
	require.NoError(t, a.up(until(t)))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- the end of an agent's log\n%s", a.tail(40))
		}
		if err := a.end(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return a
}

// discard deletes all Clusters of a workspace: one without its agent would be healed for as long as the hub lives.
func (b *bed) discard(t *testing.T, p place) {
	ctx := context.WithoutCancel(t.Context())
	err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// connected waits until the one cluster of a workspace is connected, and returns it.
func (b *bed) connected(t *testing.T, p place) *fleet.Cluster {
	t.Helper()
	var cluster *fleet.Cluster
	await(t, "the cluster of "+p.workspace+" to be connected", func(ctx context.Context) (bool, string, error) {
		clusters, err := stage.List[fleet.Cluster](ctx, b.Hub, stage.Clusters, p.workspace)
		if err != nil || len(clusters) != 1 {
			return false, fmt.Sprintf("%d clusters", len(clusters)), err
		}
		cluster = &clusters[0]
		return stage.Connected(cluster), stage.Conditions(cluster.Status.Conditions), nil
	})
	return cluster
}

// request waits until a workspace has one registration, which is granted and in use and is none of the earlier ones.
func (b *bed) request(t *testing.T, p place, earlier ...*fleet.ClusterRegistration) *fleet.ClusterRegistration {
	t.Helper()
	var request *fleet.ClusterRegistration
	await(t, "one registration in use in "+p.workspace, func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		if err != nil || len(list) != 1 {
			return false, fmt.Sprintf("%d registrations", len(list)), err
		}
		request = &list[0]
		for _, e := range earlier {
			if e.UID == request.UID {
				return false, "still the earlier one", nil
			}
		}
		return request.Status.Granted && stage.IsTrue(request.Status.Conditions, fleet.RegistrationConditionCredentialUsed), describe(*request), nil
	})
	return request
}

// warning waits for an event of an agent that warns with one of the reasons, and returns its message.
func (b *bed) warning(t *testing.T, p place, reasons ...string) string {
	t.Helper()
	var message string
	await(t, "the agent's warning "+strings.Join(reasons, " or "), func(ctx context.Context) (bool, string, error) {
		events, err := b.edge.Kube.CoreV1().Events(p.agents).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		seen := ""
		for _, event := range events.Items {
			seen += fmt.Sprintf("%s: %s; ", event.Reason, event.Message)
			if event.Type == corev1.EventTypeWarning && slices.Contains(reasons, event.Reason) {
				message = event.Message
			}
		}
		return message != "", seen, nil
	})
	return message
}
