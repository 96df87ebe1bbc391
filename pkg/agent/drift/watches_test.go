package drift

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// deadlineFor is several times what any wait in these tests takes.
const deadlineFor = 20 * time.Second

// bed is watches over a cluster in memory.
type bed struct {
	*Watches
	t       *testing.T
	cluster *fakeCluster
	told    chan string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, cluster: newFakeCluster(), told: make(chan string, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	b.Watches = Start(ctx, Config{Cluster: b.cluster, Notify: func(name string) { b.told <- name }, Clock: clock.RealClock{}, Random: rand.Float64})
	t.Cleanup(func() {
		cancel()
		b.Wait()
	})
	return b
}

const labelled = "labels: {objectset.rio.cattle.io/hash: '" + ourHash + "'}"

// configMaps are a release of ConfigMaps with the data a: b.
func configMaps(t *testing.T, names ...string) Wanted {
	wanted := Wanted{Release: "default/test:1", Hash: ourHash, Namespace: "default"}
	for _, name := range names {
		wanted.Objects = append(wanted.Objects, objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}\ndata: {a: b}")...)
	}
	return wanted
}

func (b *bed) has(name, data string) {
	b.cluster.put(b.t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", "+labelled+"}\ndata: {a: "+data+"}")
}

func configMap(name string) Key { return Key{Kind: "ConfigMap", Namespace: "default", Name: name} }

func (b *bed) status(name string, wanted Wanted) Result {
	b.t.Helper()
	result, err := b.Status(b.t.Context(), name, wanted)
	require.NoError(b.t, err)
	return result
}

// hears waits for a notice about a bundle.
func (b *bed) hears(name string) {
	b.t.Helper()
	select {
	case got := <-b.told:
		require.Equal(b.t, name, got)
	case <-time.After(deadlineFor):
		require.Fail(b.t, "no notice came")
	}
}

// watching waits until that many watches are open.
func (b *bed) watching(count int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.cluster.open() == count }, deadlineFor, time.Millisecond)
}

func texts(result Result) (list []string) {
	for _, entry := range result.ModifiedStatus {
		list = append(list, entry.String())
	}
	return list
}

func TestChangeIsToldAndOnlyItIsReadAgain(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one", "two", "three", "four", "five")
	for _, obj := range wanted.Objects {
		b.has(obj.GetName(), "b")
	}
	result := b.status("bundle", wanted)
	assert.True(t, result.Ready && result.NonModified, "%+v", result)
	assert.Equal(t, 1, b.cluster.reads(), "one list")
	b.watching(1)

	b.has("two", "x")
	b.hears("bundle")
	assert.Equal(t, []string{`configmap.v1 default/two modified {"data":{"a":"b"}}`}, texts(b.status("bundle", wanted)))
	assert.Equal(t, 2, b.cluster.reads(), "and one object")
	b.status("bundle", wanted)
	assert.Equal(t, 2, b.cluster.reads(), "nothing has changed since")

	b.cluster.remove(configMap("three"))
	b.hears("bundle")
	assert.Equal(t, []string{"configmap.v1 default/three missing", `configmap.v1 default/two modified {"data":{"a":"b"}}`},
		texts(b.status("bundle", wanted)))

	b.has("two", "b")
	b.has("three", "b")
	b.hears("bundle")
	require.Eventually(t, func() bool { return b.status("bundle", wanted).NonModified }, deadlineFor, time.Millisecond)
}

// After a write of the caller's own its effect is read, whatever the watches have told by then.
func TestALookAfterAWriteReadsEverythingAgain(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one", "two")
	b.has("one", "b")
	b.has("two", "b")
	b.status("bundle", wanted)
	reads := b.cluster.reads()
	wanted.Afresh = true
	assert.True(t, b.status("bundle", wanted).NonModified)
	assert.Equal(t, reads+2, b.cluster.reads())
	wanted.Afresh = false
	b.status("bundle", wanted)
	assert.Equal(t, reads+2, b.cluster.reads(), "and is known from then on")
}

func TestFirstListIsNoChange(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	b.has("one", "b")
	b.status("bundle", wanted)
	b.watching(1)
	b.has("other", "b") // the first list has been taken in
	b.has("one", "x")
	b.hears("bundle")
	assert.Equal(t, 1, b.cluster.reads())
	assert.Empty(t, b.told, "nothing was told before")
}

func TestOneWatchServesAllBundlesAndEndsWithTheLast(t *testing.T) {
	b := newBed(t)
	b.Track("a", configMaps(t, "one"))
	b.Track("b", configMaps(t, "two"))
	b.Track("b", configMaps(t, "two", "three"))
	b.watching(1)
	b.Forget("a")
	b.Forget("a")
	b.has("three", "b")
	b.hears("b")
	b.Forget("b")
	b.watching(0)
	assert.Empty(t, b.kinds)
	b.has("three", "x")
	b.Track("c", configMaps(t, "one"))
	b.watching(1)
	assert.Empty(t, b.told)
}

func TestKindsOfTheNextReleaseReplaceThoseOfTheLast(t *testing.T) {
	b := newBed(t)
	b.Track("a", configMaps(t, "one"))
	b.watching(1)
	next := Wanted{Release: "default/test:2", Hash: ourHash, Objects: objects(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}"),
		Previous: configMaps(t, "one").Objects}
	b.Track("a", next)
	b.watching(2)
	next.Release, next.Previous = "default/test:3", nil
	b.Track("a", next)
	b.watching(1)
	require.Contains(t, b.kinds, schema.GroupKind{Kind: "Secret"})
}

func TestWhatTheRevisionBeforeLeftIsExtraUntilItGoes(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	wanted.Previous = configMaps(t, "one", "left", "never-there").Objects
	b.has("one", "b")
	b.has("left", "b")
	b.has("never-ours", "b")
	b.Track("bundle", wanted)
	b.watching(1)
	b.hears("bundle")
	assert.Equal(t, []string{"configmap.v1 default/left extra"}, texts(b.status("bundle", wanted)))
	b.cluster.remove(configMap("left"))
	b.hears("bundle")
	assert.Empty(t, texts(b.status("bundle", wanted)))
}

func TestObjectOfAnotherIsNotOurs(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	b.cluster.put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}")
	for range 2 {
		result := b.status("bundle", wanted)
		assert.Equal(t, []string{"configmap.v1 default/one is not owned by us"}, texts(result))
		assert.True(t, result.Unwatched, "no watch tells when it goes")
	}
	b.cluster.remove(configMap("one"))
	result := b.status("bundle", wanted)
	assert.Equal(t, []string{"configmap.v1 default/one missing"}, texts(result))
	assert.False(t, result.Unwatched)
	b.watching(1)
	b.cluster.put(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {objectset.rio.cattle.io/hash: theirs}}")
	b.hears("bundle")
	result = b.status("bundle", wanted)
	assert.Equal(t, []string{"configmap.v1 default/one is not owned by us"}, texts(result))
	assert.False(t, result.Unwatched)
}

// H06: what the server would not change is not a change by others.
func TestDifferenceWithoutEffectIsNone(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	b.has("one", "x")
	b.cluster.try = func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		live.SetResourceVersion("99")
		live.SetGeneration(7)
		return live, nil
	}
	assert.True(t, b.status("bundle", wanted).NonModified)
	wanted.Release = "default/test:2"
	b.cluster.try = func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, errAway }
	assert.False(t, b.status("bundle", wanted).NonModified, "a server that does not answer leaves it as it was found")
	wanted.Release = "default/test:3"
	b.cluster.try = nil
	assert.False(t, b.status("bundle", wanted).NonModified)
	b.status("bundle", wanted)
	assert.Equal(t, 3, b.cluster.tries, "each reading asks once")
}

func TestWatchThatEndsBeginsAgainAndMissesNothing(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one", "two", "three")
	for _, obj := range wanted.Objects {
		b.has(obj.GetName(), "b")
	}
	b.status("bundle", wanted)
	b.watching(1)
	b.cluster.lock.Lock()
	b.cluster.failing = errAway
	b.cluster.lock.Unlock()
	b.cluster.cut()
	b.cluster.remove(configMap("one"))
	b.has("two", "x")
	b.cluster.lock.Lock()
	b.cluster.failing = nil
	b.cluster.lock.Unlock()
	b.hears("bundle")
	require.Eventually(t, func() bool { return len(texts(b.status("bundle", wanted))) == 2 }, deadlineFor, 10*time.Millisecond)
}

func TestReadingThatFailsIsTakenUpAgain(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one", "two")
	b.cluster.failing = errAway
	_, err := b.Status(t.Context(), "bundle", wanted)
	require.ErrorIs(t, err, errAway)
	require.ErrorContains(t, err, "bundle bundle")
	b.cluster.lock.Lock()
	b.cluster.failing = nil
	b.cluster.lock.Unlock()
	assert.Len(t, texts(b.status("bundle", wanted)), 2)
}

func TestOtherOptionsMakeWhatWasFoundVoid(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	b.has("one", "x")
	assert.Len(t, texts(b.status("bundle", wanted)), 1)
	wanted.Options = options(t, "diff: {comparePatches: [{apiVersion: v1, kind: ConfigMap, jsonPointers: [/data/a]}]}")
	assert.Empty(t, texts(b.status("bundle", wanted)))
}

// C04: what is not ready costs a reading for each change of it, and nothing else.
func TestWhatIsNotReadyIsNotReadForEver(t *testing.T) {
	b := newBed(t)
	wanted := Wanted{Release: "default/test:1", Hash: ourHash, Namespace: "default",
		Objects: objects(t, many(200, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}"))}
	for _, obj := range objects(t, many(200, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, generation: 2, "+labelled+"}\nstatus: {observedGeneration: 1}")) {
		b.cluster.store(obj)
	}
	result := b.status("bundle", wanted)
	assert.Equal(t, 200, result.ResourceCounts.NotReady)
	for range 50 {
		b.status("bundle", wanted)
	}
	assert.Equal(t, 1, b.cluster.reads())
}

func TestOnlyWhatHasAnEffectIsShown(t *testing.T) {
	b := newBed(t)
	wanted := Wanted{Release: "default/test:1", Hash: ourHash, Namespace: "default",
		Objects: objects(t, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1, unknown: {a: b}, deep: {a: 1, b: 2}}")}
	b.cluster.put(t, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, "+labelled+"}\nspec: {size: 2, deep: {a: 1}}")
	b.cluster.try = func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return live, unstructured.SetNestedField(live.Object, int64(1), "spec", "size")
	}
	assert.Equal(t, []string{`thing.example.com default/a modified {"spec":{"size":1}}`}, texts(b.status("bundle", wanted)))
}

// The agent's budget is 60 MB for all: a remembered object costs less than a kilobyte.
func TestManyObjectsTakeLittleMemory(t *testing.T) {
	const bundles, each = 50, 40
	b := newBed(t)
	one := configMaps(t, "one").Objects[0]
	release := func(bundle int) Wanted {
		wanted := Wanted{Release: "r", Hash: fmt.Sprint(bundle), Namespace: "default"}
		for i := range each {
			obj := one.DeepCopy()
			obj.SetName(fmt.Sprintf("b%d-%d", bundle, i))
			wanted.Objects = append(wanted.Objects, obj)
		}
		return wanted
	}
	for i := range bundles {
		for n, obj := range release(i).Objects {
			obj.SetLabels(map[string]string{HashLabel: fmt.Sprint(i)})
			obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)))
			obj.SetAnnotations(map[string]string{"long": strings.Repeat("x", 1000)})
			b.cluster.store(obj)
		}
	}
	before := heap()
	for i := range bundles {
		require.True(t, b.status(fmt.Sprint(i), release(i)).NonModified)
	}
	b.watching(1)
	used := heap() - before
	assert.Less(t, used/(bundles*each), int64(1024), "bytes for each object")
	assert.Positive(t, used)
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestObjectsWithoutANameAreNotLookedFor(t *testing.T) {
	b, wanted := newBed(t), configMaps(t, "one")
	wanted.Objects = append(wanted.Objects, objects(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: job-}")...)
	b.has("one", "b")
	assert.Equal(t, 1, b.status("bundle", wanted).ResourceCounts.DesiredReady)
}
