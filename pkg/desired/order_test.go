package desired

import (
	"net/http"
	"path"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// grantSet holds what binds before what is bound, as credentials are to be taken back.
func grantSet(t *testing.T) (*world, *Applier) {
	t.Helper()
	var applier *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		applier = New(hub.Apply, Set{ID: "grant", Kinds: []apply.InformerGetter{hub.RBAC.RoleBinding(), hub.RBAC.Role(), hub.Core.ServiceAccount()}})
	})
	return w, applier
}

// The engine goes through kinds by their names; an account that goes before its bindings leaves rights without an owner.
func TestKindsAreRemovedInTheirDeclaredOrder(t *testing.T) {
	w, a := grantSet(t)
	owner := cluster("ws", "edge")
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa"), role("ns", "r", "get"), binding("ns", "b", "r")))
	w.seen(a, owner, 3)
	w.server.Reset()

	require.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"))
	var deleted []string
	for _, r := range w.server.Writes() {
		if r.Verb == "delete" {
			deleted = append(deleted, path.Base(path.Dir(r.Path)))
		}
	}
	assert.Equal(t, []string{"rolebindings", "roles", "serviceaccounts"}, deleted)
}

func TestWhatCannotBeRemovedKeepsWhatComesAfterIt(t *testing.T) {
	w, a := grantSet(t)
	owner := cluster("ws", "edge")
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa"), role("ns", "r", "get"), binding("ns", "b", "r")))
	w.seen(a, owner, 3)
	w.server.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete {
			return false
		}
		kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		return true
	})
	require.Error(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"))
	assert.NotNil(t, w.server.Object("ServiceAccount", "ns", "sa"))
}

func TestRemovingAnEmptySetAsksNothing(t *testing.T) {
	w, a := grantSet(t)
	w.server.Reset()
	require.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"))
	assert.Empty(t, w.server.Writes())
}
