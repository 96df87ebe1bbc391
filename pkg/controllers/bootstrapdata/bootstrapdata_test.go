package bootstrapdata

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/desired"
	"github.com/rancher/fleet/pkg/names"
)

var update = flag.Bool("update", false, "write testdata anew instead of comparing with it")

var hub = names.NamespacesOf(names.DefaultSystemNamespace)

// The golden file is the contract with agents: what is in it they may do, and nothing else.
func TestObjects(t *testing.T) {
	var got []byte
	for _, obj := range objects(hub) {
		document, err := yaml.Marshal(obj)
		require.NoError(t, err)
		got = append(append(got, "---\n"...), document...)
	}
	golden := filepath.Join("testdata", "objects.yaml")
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test with -update writes it anew")
}

func TestNamespacesFollowTheSystemNamespace(t *testing.T) {
	assert.Equal(t, []string{"cattle-fleet-system", "cattle-fleet-clusters-system", "cattle-fleet-agents-system"}, namespaces(hub))
	assert.Equal(t, []string{"x", "x-clusters-system", "x-agents-system"}, namespaces(names.NamespacesOf("x")))
}

// world is a hub in memory with this controller.
type world struct {
	*handler
	roles      *controllertest.ClusterController[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList]
	namespaces *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	applied    int
	fault      error
}

func (w *world) Apply(_ context.Context, owner desired.Owner, objs ...runtime.Object) error {
	if owner != nil || len(objs) != 3 {
		return errors.New("not the set that was expected")
	}
	w.applied++
	return w.fault
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		roles:      controllertest.NewCluster[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList](rbacv1.GroupName, "clusterroles"),
		namespaces: controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
	}
	w.handler = &handler{Deps: Deps{ClusterRoles: w.roles, Namespaces: w.namespaces, Names: hub}, ctx: t.Context(), set: w}
	return w
}

func TestNamespacesAreMadeAndNeverTouched(t *testing.T) {
	w := newWorld(t)
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hub.System, Labels: map[string]string{"mine": "yes"}}})
	_, err := w.onChange(everything, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"create " + hub.Registration, "create " + hub.Agents}, w.namespaces.Writes())
	assert.Empty(t, w.namespaces.Live("", hub.Registration).Labels, "the managed label marks what a cluster owns")
	assert.Equal(t, 1, w.applied)

	_, err = w.onChange(everything, nil)
	require.NoError(t, err)
	assert.Empty(t, w.namespaces.Writes())
}

func TestNamespaceThatTheCacheDoesNotShowYetIsNoError(t *testing.T) {
	w := newWorld(t)
	w.namespaces.Lag = true
	_, err := w.onChange(everything, nil)
	require.NoError(t, err)
	_, err = w.onChange(everything, nil)
	require.NoError(t, err)
}

// Whatever of it changes, all of it is looked at under one key, and so by one worker.
func TestEveryPartLeadsToTheOneKey(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{names.ContentClusterRoleBinding, hub.System, hub.Registration, hub.Agents} {
		keys, err := w.partOf("", name, nil)
		require.NoError(t, err)
		require.Len(t, keys, 1, name)
		assert.Equal(t, everything, keys[0].Name)
	}
	keys, err := w.partOf("", "default", nil)
	require.NoError(t, err)
	assert.Empty(t, keys)

	_, err = w.onChange(names.ContentClusterRole, nil)
	require.NoError(t, err)
	after, queued := w.roles.After("", everything)
	assert.True(t, queued)
	assert.Equal(t, time.Duration(0), after)
	assert.Zero(t, w.applied)
	_, err = w.onChange("cluster-admin", nil)
	require.NoError(t, err)
	assert.Zero(t, w.applied)
}

func TestFailuresAreReturned(t *testing.T) {
	w := newWorld(t)
	w.fault = errors.New("no")
	_, err := w.onChange(everything, nil)
	require.ErrorIs(t, err, w.fault)
	w.fault = nil
	w.namespaces.Remove("", hub.Agents)
	w.namespaces.Fail = func(string, string) error { return errors.New("forbidden") }
	_, err = w.onChange(everything, nil)
	require.ErrorContains(t, err, hub.Agents)
}
