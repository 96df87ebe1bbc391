package desired

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

var clusterGVK = fleet.SchemeGroupVersion.WithKind("Cluster")

func grant(t *testing.T) (*world, *Applier) {
	t.Helper()
	var applier *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		applier = New(hub.Apply, Set{ID: "grant", Kinds: grantKinds(hub)})
	})
	return w, applier
}

// To the engine an empty set means: delete all. A handler that has nothing to say yet must not get that by accident.
func TestAnEmptySetIsRefused(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa")))

	assert.ErrorIs(t, a.Apply(w.ctx(), owner), ErrEmpty)
	assert.ErrorContains(t, a.Apply(w.ctx(), owner, nil), "nil")
	assert.ErrorContains(t, a.Apply(w.ctx(), owner, (*corev1.ServiceAccount)(nil)), "nil")

	assert.NotNil(t, w.server.Object("ServiceAccount", "ns", "sa"))
}

func TestKeepIsWhatGeneratingHandlersSkipOn(t *testing.T) {
	assert.True(t, errors.Is(Keep, generic.ErrSkip) && Keep == generic.ErrSkip, "it is compared by value")
}

func TestWhatTheSetWouldRegretIsRefused(t *testing.T) {
	w, a := grant(t)
	unlabelled := account("ns", "sa")
	unlabelled.Labels = nil
	for name, test := range map[string]struct {
		objs []runtime.Object
		says string
	}{
		"a kind that is not declared":             {[]runtime.Object{&corev1.ConfigMap{ObjectMeta: managed("sys", "c")}}, "not declared"},
		"a namespaced object without a namespace": {[]runtime.Object{account("", "sa")}, "no namespace"},
		"a generated name":                        {[]runtime.Object{&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "sa-"}}}, "no name"},
		"an object that the caches would not see": {[]runtime.Object{unlabelled}, "fleet.cattle.io/managed=true"},
		"the same object twice":                   {[]runtime.Object{account("ns", "sa"), account("ns", "sa")}, "twice"},
		"a secret with data":                      {[]runtime.Object{&corev1.Secret{ObjectMeta: managed("ns", "s"), Data: map[string][]byte{"a": []byte("b")}}}, "written directly"},
	} {
		t.Run(name, func(t *testing.T) {
			w.server.Reset()
			err := a.Apply(w.ctx(), cluster("ws", "edge"), test.objs...)
			assert.ErrorContains(t, err, test.says)
			assert.ErrorContains(t, err, "set grant of ws/edge")
			assert.Empty(t, w.server.Writes())
		})
	}
	assert.ErrorContains(t, a.Apply(w.ctx(), (*fleet.Cluster)(nil), account("ns", "sa")), "nil")
	assert.NoError(t, a.Apply(w.ctx(), cluster("ws", "edge"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster-scoped"}}))
}

// A kind that drops out of the desired objects altogether is pruned because it is declared, in whatever namespace it was.
func TestWhatDropsOutIsPrunedEvenTheLastOfItsKind(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	objs := []runtime.Object{account("ns", "sa"), role("ns", "r", "get"), binding("elsewhere", "b", "r")}
	require.NoError(t, a.Apply(w.ctx(), owner, objs...))
	w.seen(a, owner, 3)

	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa")))

	assert.NotNil(t, w.server.Object("ServiceAccount", "ns", "sa"))
	assert.Nil(t, w.server.Object("Role", "ns", "r"))
	assert.Nil(t, w.server.Object("RoleBinding", "elsewhere", "b"))
}

func TestRemoveTakesTheSetOfThatOwnerOnly(t *testing.T) {
	w, a := grant(t)
	one, two := cluster("ws", "one"), cluster("ws", "two")
	require.NoError(t, a.Apply(w.ctx(), one, account("ns", "one"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "of-one"}}))
	require.NoError(t, a.Apply(w.ctx(), two, account("ns", "two")))
	require.NoError(t, a.Apply(w.ctx(), nil, account("ns", "nobodys")))
	w.seen(a, one, 2)
	w.seen(a, two, 1)
	w.seen(a, nil, 1)

	require.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "one"))
	assert.ElementsMatch(t, []string{"ns/two", "ns/nobodys"}, w.server.Names("ServiceAccount"))
	assert.NotNil(t, w.server.Object("Namespace", "", "of-one"), "a namespace is never removed by a set")

	require.NoError(t, a.Remove(w.ctx(), schema.GroupVersionKind{}, "", ""))
	assert.ElementsMatch(t, []string{"ns/two"}, w.server.Names("ServiceAccount"))
}

func TestRemovingWhatIsGoneAlreadyIsNoError(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "a"), account("ns", "b"), account("ns", "kept")))
	w.seen(a, owner, 3)
	var deletes int
	w.server.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete {
			return false
		}
		deletes++
		kubetest.Fail(rw, http.StatusNotFound, metav1.StatusReasonNotFound, "gone")
		return true
	})

	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "kept")))
	require.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"))

	assert.Equal(t, 5, deletes)
}

func TestAnotherFailureIsStillAnError(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	w.server.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		kubetest.Fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		return true
	})

	assert.ErrorContains(t, a.Apply(w.ctx(), owner, account("ns", "a")), "set grant of ws/edge")

	w.server.Intercept(nil)
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "a")), "a failure is not remembered as done")
	assert.NotNil(t, w.server.Object("ServiceAccount", "ns", "a"))
}

func TestOwnerReferencesStayInTheirNamespace(t *testing.T) {
	var with, without *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		with = New(hub.Apply, Set{ID: "with", Kinds: grantKinds(hub), OwnerReferences: true})
		without = New(hub.Apply, Set{ID: "without", Kinds: grantKinds(hub)})
	})
	owner := cluster("ws", "edge")

	require.NoError(t, with.Apply(w.ctx(), owner, account("ws", "same"), account("other", "other"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "scoped"}}))
	require.NoError(t, without.Apply(w.ctx(), owner, account("ws", "plain")))

	no := false
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster", Name: "edge", UID: owner.UID, Controller: &no, BlockOwnerDeletion: &no,
	}}, w.server.Object("ServiceAccount", "ws", "same").GetOwnerReferences())
	assert.Empty(t, w.server.Object("ServiceAccount", "other", "other").GetOwnerReferences())
	assert.Empty(t, w.server.Object("Namespace", "", "scoped").GetOwnerReferences())
	assert.Empty(t, w.server.Object("ServiceAccount", "ws", "plain").GetOwnerReferences())
}

// The garbage collector deletes an object whose owner it cannot find.
func TestOwnerReferencesNeedALiveOwner(t *testing.T) {
	var a *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		a = New(hub.Apply, Set{ID: "with", Kinds: grantKinds(hub), OwnerReferences: true})
	})
	owner := cluster("ws", "edge")
	owner.UID = ""

	assert.ErrorContains(t, a.Apply(w.ctx(), owner, account("ws", "sa")), "UID")
	assert.ErrorContains(t, a.Apply(w.ctx(), nil, account("ws", "sa")), "without an owner")
	assert.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"), "to remove needs none")
}

func TestABindingToAnotherRoleIsMadeAnew(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	w.settled(a, owner, binding("ns", "b", "old"))
	first := w.server.Object("RoleBinding", "ns", "b").GetUID()

	err := a.Apply(w.ctx(), owner, binding("ns", "b", "new"))

	assert.Error(t, err, "the pass that deletes says that it is not done")
	w.settled(a, owner, binding("ns", "b", "new"))
	got := w.server.Object("RoleBinding", "ns", "b")
	name, _, _ := unstructured.NestedString(got.Object, "roleRef", "name")
	assert.Equal(t, "new", name)
	assert.NotEqual(t, first, got.GetUID())
}

// The engine records only the first 64 characters of a string: a long name must not look changed each time.
func TestALongRoleNameIsNotMadeAnewForEveryChange(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	long := strings.Repeat("r", 100)
	w.settled(a, owner, binding("ns", "b", long))
	first := w.server.Object("RoleBinding", "ns", "b").GetUID()
	changed := binding("ns", "b", long)
	changed.Subjects[0].Name = "another"

	require.NoError(t, a.Apply(w.ctx(), owner, changed))

	assert.Equal(t, first, w.server.Object("RoleBinding", "ns", "b").GetUID())
}

// Per set the engine allows one pass a second and lets the worker wait: 13 passes took three seconds.
func TestPassesAreNotRateLimited(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	begin := time.Now()
	for i := range 40 {
		require.NoError(t, a.Apply(w.ctx(), owner, role("ns", "r", fmt.Sprintf("verb-%d", i))))
	}
	assert.Less(t, time.Since(begin), 10*time.Second, "40 passes took half a minute at one a second after ten")
}

func TestManyOwnersAtOnce(t *testing.T) {
	w, a := grant(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			owner := cluster("ws", fmt.Sprintf("c-%d", i))
			for range 5 {
				assert.NoError(t, a.Apply(w.ctx(), owner, account("ns", owner.Name)))
			}
		})
	}
	group.Wait()
	assert.Len(t, w.server.Names("ServiceAccount"), 20)
}

func TestASetNeedsAnID(t *testing.T) {
	var a *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		a = New(hub.Apply, Set{Kinds: []apply.InformerGetter{hub.Core.ServiceAccount()}})
	})
	assert.ErrorContains(t, a.Apply(w.ctx(), cluster("ws", "edge"), account("ns", "sa")), "no ID")
	assert.ErrorContains(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"), "no ID")
}
