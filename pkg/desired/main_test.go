package desired

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// deadlineFor is several times what any wait in these tests takes.
const deadlineFor = 20 * time.Second

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.ErrorLevel)
	goleak.VerifyTestMain(m)
}

// world is a hub against a server, with the real engine and real caches.
type world struct {
	t      *testing.T
	server *kubetest.Server
	hub    *kube.Hub
}

// newWorld starts the hub's caches after prepare has made its appliers.
func newWorld(t *testing.T, prepare func(hub *kube.Hub)) *world {
	t.Helper()
	server := kubetest.New(t)
	hub, err := kube.NewHub(context.Background(), server.Config(), kube.HubOptions{SystemNamespace: "sys", Workers: 1})
	require.NoError(t, err)
	prepare(hub)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	require.NoError(t, hub.Start(ctx))
	return &world{t: t, server: server, hub: hub}
}

// grantKinds is a set as a registration has it.
func grantKinds(hub *kube.Hub) []apply.InformerGetter {
	return []apply.InformerGetter{hub.Core.ServiceAccount(), hub.RBAC.Role(), hub.RBAC.RoleBinding(), hub.RBAC.ClusterRoleBinding(), hub.Core.Namespace(), hub.Core.Secret()}
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), deadlineFor)
	w.t.Cleanup(cancel)
	return ctx
}

// settled waits until the caches show exactly what the set of that owner should hold and the gate would close: a pass
// that is skipped.
func (w *world) settled(a *Applier, owner Owner, objs ...runtime.Object) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		_, before := a.Stats()
		if a.Apply(w.ctx(), owner, objs...) != nil {
			return false
		}
		_, after := a.Stats()
		return after > before
	}, deadlineFor, 5*time.Millisecond, "the set never settles")
}

// seen waits until the caches show the number of objects that the set of that owner holds.
func (w *world) seen(a *Applier, owner Owner, count int) {
	w.t.Helper()
	id, err := identity(a.set.ID, owner)
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool {
		found, err := a.look(id)
		return err == nil && len(found) == count
	}, deadlineFor, 5*time.Millisecond)
}

func cluster(namespace, name string) *fleet.Cluster {
	return &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-the-owner"}}
}

func managed(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"fleet.cattle.io/managed": "true"}}
}

func account(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: managed(namespace, name)}
}

func role(namespace, name string, verbs ...string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: managed(namespace, name), Rules: []rbacv1.PolicyRule{{Verbs: verbs, Resources: []string{"secrets"}, APIGroups: []string{""}}}}
}

func binding(namespace, name, roleName string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: managed(namespace, name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: roleName},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "sa"}},
	}
}

func accounts(count int) []runtime.Object {
	objs := make([]runtime.Object, 0, count)
	for i := range count {
		objs = append(objs, account("ns", fmt.Sprintf("sa-%d", i)))
	}
	return objs
}
