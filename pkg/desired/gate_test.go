package desired

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/kube"
)

// An unchanged object costs the engine about a millisecond and 145 KB, each time.
func TestAnUnchangedSetIsSkipped(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	objs := accounts(20)
	w.settled(a, owner, objs...)
	w.server.Reset()
	applied, skipped := a.Stats()

	for range 10 {
		require.NoError(t, a.Apply(w.ctx(), owner, objs...))
	}

	appliedNow, skippedNow := a.Stats()
	assert.Equal(t, applied, appliedNow)
	assert.Equal(t, skipped+10, skippedNow)
	assert.Empty(t, w.server.Writes())
}

func TestTheOrderOfTheObjectsIsNoChange(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	w.settled(a, owner, account("ns", "a"), account("ns", "b"))
	applied, _ := a.Stats()

	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "b"), account("ns", "a")))

	appliedNow, _ := a.Stats()
	assert.Equal(t, applied, appliedNow)
}

func TestDriftIsCorrectedBehindTheGate(t *testing.T) {
	for name, drift := range map[string]func(w *world){
		"a changed field": func(w *world) {
			got := w.server.Object("Role", "ns", "r")
			got.Object["rules"] = []any{}
			w.server.Put(got)
		},
		"a deleted object": func(w *world) { w.server.Remove("Role", "ns", "r") },
		"an object deleted and made anew by someone": func(w *world) {
			got := w.server.Object("Role", "ns", "r")
			w.server.Remove("Role", "ns", "r")
			got.Object["rules"] = []any{}
			w.server.Put(got)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := grant(t)
			owner := cluster("ws", "edge")
			objs := []runtime.Object{role("ns", "r", "get"), account("ns", "sa")}
			w.settled(a, owner, objs...)

			drift(w)

			require.Eventually(t, func() bool {
				require.NoError(t, a.Apply(w.ctx(), owner, objs...))
				got := w.server.Object("Role", "ns", "r")
				if got == nil {
					return false
				}
				rules, _, _ := unstructured.NestedSlice(got.Object, "rules")
				return len(rules) == 1
			}, deadlineFor, 5*time.Millisecond)
		})
	}
}

// An object that is created and deleted again before anyone looks leaves the cache as it was before: with the state before
// the creation remembered as good, the object would never come back.
func TestACreatedObjectThatIsDeletedAtOnceComesBack(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa")))
	w.seen(a, owner, 1)
	w.server.Remove("ServiceAccount", "ns", "sa")
	w.seen(a, owner, 0)

	require.NoError(t, a.Apply(w.ctx(), owner, account("ns", "sa")))

	assert.NotNil(t, w.server.Object("ServiceAccount", "ns", "sa"))
}

func TestAnotherWishOrAnotherOwnerIsAChange(t *testing.T) {
	var a *Applier
	w := newWorld(t, func(hub *kube.Hub) {
		a = New(hub.Apply, Set{ID: "with", Kinds: grantKinds(hub), OwnerReferences: true})
	})
	owner := cluster("ws", "edge")
	w.settled(a, owner, role("ws", "r", "get"))

	require.NoError(t, a.Apply(w.ctx(), owner, role("ws", "r", "list")))
	rules := fmt.Sprint(w.server.Object("Role", "ws", "r").Object["rules"])
	assert.Contains(t, rules, "list")

	w.settled(a, owner, role("ws", "r", "list"))
	again := cluster("ws", "edge")
	again.UID = "uid-of-the-next-owner-of-that-name"
	require.NoError(t, a.Apply(w.ctx(), again, role("ws", "r", "list")))
	references := w.server.Object("Role", "ws", "r").GetOwnerReferences()
	require.NotEmpty(t, references)
	assert.Equal(t, again.UID, references[len(references)-1].UID)
}

func TestTheGatesMemoryIsBoundedAndFreed(t *testing.T) {
	w, a := grant(t)
	owner := cluster("ws", "edge")
	w.settled(a, owner, account("ns", "sa"))
	require.Len(t, a.gate.good, 1)
	require.NoError(t, a.Remove(w.ctx(), clusterGVK, "ws", "edge"))
	assert.Empty(t, a.gate.good)

	small := gate{limit: 3}
	for i := range 10 {
		small.remember(fmt.Sprint(i), state{})
		small.remember(fmt.Sprint(i), state{})
	}
	assert.Len(t, small.good, 3)
	assert.True(t, small.unchanged("9", state{}), "the newest is kept")
}
