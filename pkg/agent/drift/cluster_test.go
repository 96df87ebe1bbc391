package drift

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// fakeCluster holds objects, and tells its watches of them as an API server does: by their label.
type fakeCluster struct {
	lock     sync.Mutex
	version  int
	objects  map[Key]*unstructured.Unstructured
	watches  map[schema.GroupKind][]*watch.RaceFreeFakeWatcher
	unserved map[schema.GroupKind]bool
	failing  error
	// try answers dry runs; nil applies the patch.
	try func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)

	gets, lists, tries, dials int
}

func newFakeCluster() *fakeCluster {
	return &fakeCluster{objects: map[Key]*unstructured.Unstructured{}, unserved: map[schema.GroupKind]bool{},
		watches: map[schema.GroupKind][]*watch.RaceFreeFakeWatcher{}}
}

func (c *fakeCluster) put(t testing.TB, document string) {
	t.Helper()
	for _, obj := range objects(t, document) {
		c.store(obj)
	}
}

func (c *fakeCluster) store(obj *unstructured.Unstructured) {
	c.lock.Lock()
	defer c.lock.Unlock()
	key := keyOf(obj, "default", scope)
	obj.SetNamespace(key.Namespace)
	c.version++
	obj.SetResourceVersion(strconv.Itoa(c.version))
	before := c.objects[key]
	c.objects[key] = obj
	was, is := before != nil && before.GetLabels()[HashLabel] != "", obj.GetLabels()[HashLabel] != ""
	for _, w := range c.watches[key.groupKind()] {
		switch {
		case w.IsStopped():
		case was && is:
			w.Modify(partial(obj))
		case is:
			w.Add(partial(obj))
		case was:
			w.Delete(partial(obj))
		}
	}
}

func (c *fakeCluster) remove(key Key) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, w := range c.watches[key.groupKind()] {
		if !w.IsStopped() && c.objects[key].GetLabels()[HashLabel] != "" {
			w.Delete(partial(c.objects[key]))
		}
	}
	delete(c.objects, key)
}

// cut ends all watches.
func (c *fakeCluster) cut() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for kind, watches := range c.watches {
		for _, w := range watches {
			w.Stop()
		}
		delete(c.watches, kind)
	}
}

// open counts the watches that are open.
func (c *fakeCluster) open() (count int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, watches := range c.watches {
		for _, w := range watches {
			if !w.IsStopped() {
				count++
			}
		}
	}
	return count
}

func (c *fakeCluster) reads() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.gets + c.lists
}

func partial(obj *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations()}}
}

func (c *fakeCluster) Namespaced(kind schema.GroupVersionKind) bool { return scope(kind) }

type listWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported makes the reflector list first.
func (listWatch) IsWatchListSemanticsUnSupported() bool { return true }

func (c *fakeCluster) Watch(kind schema.GroupKind) (cache.ListerWatcher, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.dials++
	if c.unserved[kind] {
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return listWatch{&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			c.lock.Lock()
			defer c.lock.Unlock()
			list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version)}}
			for key, obj := range c.objects {
				if key.groupKind() == kind && obj.GetLabels()[HashLabel] != "" {
					list.Items = append(list.Items, *partial(obj))
				}
			}
			return list, c.failing
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			c.lock.Lock()
			defer c.lock.Unlock()
			w := watch.NewRaceFreeFake()
			c.watches[kind] = append(c.watches[kind], w)
			return w, c.failing
		},
	}}, nil
}

func (c *fakeCluster) Get(_ context.Context, _ schema.GroupVersionKind, key Key) (*unstructured.Unstructured, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.gets++
	if c.failing != nil || c.objects[key] == nil {
		return nil, c.failing
	}
	return c.objects[key].DeepCopy(), nil
}

func (c *fakeCluster) List(
	_ context.Context, kind schema.GroupVersionKind, namespace, hash string, each func(*unstructured.Unstructured),
) error {
	c.lock.Lock()
	c.lists++
	var found []*unstructured.Unstructured
	for key, obj := range c.objects {
		if key.groupKind() == kind.GroupKind() && key.Namespace == namespace && obj.GetLabels()[HashLabel] == hash {
			found = append(found, obj.DeepCopy())
		}
	}
	err := c.failing
	c.lock.Unlock()
	for _, obj := range found {
		each(obj)
	}
	return err
}

func (c *fakeCluster) Try(
	_ context.Context, _ schema.GroupVersionKind, key Key, _ types.PatchType, data []byte,
) (*unstructured.Unstructured, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.tries++
	live := c.objects[key].DeepCopy()
	if c.try != nil {
		return c.try(live)
	}
	raw, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(raw, data)
	if err != nil {
		return nil, err
	}
	changed := &unstructured.Unstructured{}
	return changed, changed.UnmarshalJSON(merged)
}

var errAway = errors.New("the API server is away")
