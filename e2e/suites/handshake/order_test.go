package handshake

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// gap is how long each has the hub to itself before the next one starts.
const gap = time.Second

// R15: hub, agent and Kubernetes' controller manager start in any order; the hub's own cluster joins.
func TestTheLocalClusterJoinsInAnyOrderOfStarts(t *testing.T) {
	t.Parallel()
	plane := lab.New(t)
	b := newBed(t, plane, plane, nil)
	b.bootstrapInto(t, "-", "")
	b.started(t)
	b.forgetStart(t)
	if !full() {
		t.Logf("reduced: gaps of %s between the starts instead of 30s; FLEET_TEST_FULL=1 runs all", gap)
	}
	for _, order := range [][3]string{
		{"hub", "agent", "manager"}, {"hub", "manager", "agent"}, {"agent", "hub", "manager"},
		{"agent", "manager", "hub"}, {"manager", "hub", "agent"}, {"manager", "agent", "hub"},
	} {
		if !t.Run(strings.Join(order[:], " before "), func(t *testing.T) { b.startInOrder(t, order) }) {
			return // what it left would be taken for the next one's
		}
	}
}

func (b *bed) startInOrder(t *testing.T, order [3]string) {
	t.Helper()
	p := local{}.place(b.newPlace())
	local{}.prepare(t, b, p)
	b.prepareAgent(t, p)
	require.NoError(t, b.Hub.StopControllerManager(until(t)))
	b.emptyBootstrapToken(t)

	agent := &actor{start: b.bareAgent(p, "agent-of-"+p.workspace)}
	starts := map[string]func(context.Context) error{
		"hub": b.controller.up, "agent": agent.up, "manager": b.Hub.StartControllerManager,
	}
	for n, who := range order {
		if n > 0 {
			time.Sleep(gapLength()) // each has the hub to itself for a while
		}
		require.NoError(t, starts[who](until(t)))
	}
	b.awaitJoined(t, p)
	require.NoError(t, agent.end())
	local{}.leave(t, b, p)
	require.NoError(t, b.Hub.Kube.RbacV1().ClusterRoleBindings().Delete(t.Context(), bindingByHand(p), metav1.DeleteOptions{}))
}

func gapLength() time.Duration {
	if full() {
		return 30 * time.Second
	}
	return gap
}

// prepareAgent makes what an agent needs that is there before the hub has put it there, as after a reinstallation of the hub.
func (b *bed) prepareAgent(t *testing.T, p place) {
	t.Helper()
	namespace(t, b.edge, p.agents)
	_, err := b.edge.Kube.CoreV1().ServiceAccounts(p.agents).Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = b.edge.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: bindingByHand(p)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.agents, Name: names.AgentAccount}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func bindingByHand(p place) string { return "by-hand-" + p.tag }

// emptyBootstrapToken makes the token of the hub's bootstrap account anew; only the controller manager can fill it in.
func (b *bed) emptyBootstrapToken(t *testing.T) {
	t.Helper()
	secrets := b.Hub.Kube.CoreV1().Secrets(stage.SystemNamespace)
	old, err := secrets.Get(t.Context(), names.BootstrapTokenSecret, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, secrets.Delete(t.Context(), old.Name, metav1.DeleteOptions{}))
	delete(old.Annotations, corev1.ServiceAccountUIDKey)
	_, err = secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, Annotations: old.Annotations}, Type: old.Type,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
