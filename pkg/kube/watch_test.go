package kube

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// told collects whom a watch enqueued.
type told struct {
	mu   sync.Mutex
	keys []string
}

func (e *told) Enqueue(namespace, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys = append(e.keys, namespace+"/"+name)
}

func (e *told) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := e.keys
	e.keys = nil
	return keys
}

// byLabel names the key that stands in label "for"; without an object, the object's own name.
func byLabel(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return []relatedresource.Key{{Namespace: namespace, Name: "gone-" + name}}, nil
	}
	if secret.Labels["for"] == "" {
		return nil, errors.New("it names nobody")
	}
	return []relatedresource.Key{{Namespace: namespace, Name: secret.Labels["for"]}}, nil
}

func secretFor(who, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "s", UID: "1", ResourceVersion: version, Labels: map[string]string{"for": who},
	}}
}

func TestAWatchFollowsEventsAndNothingElse(t *testing.T) {
	out := &told{}
	w := &watcher{name: "test", resolve: byLabel, enqueue: out}
	for _, step := range []struct {
		name  string
		event func()
		want  []string
	}{
		{"created", func() { w.OnAdd(secretFor("a", "1"), false) }, []string{"ns/a"}},
		{"seen again as it was", func() { w.OnUpdate(secretFor("a", "1"), secretFor("a", "1")) }, nil},
		{"changed", func() { w.OnUpdate(secretFor("a", "1"), secretFor("a", "2")) }, []string{"ns/a", "ns/a"}},
		{"moved: both are told", func() { w.OnUpdate(secretFor("a", "2"), secretFor("b", "3")) }, []string{"ns/a", "ns/b"}},
		{"deleted", func() { w.OnDelete(secretFor("b", "3")) }, []string{"ns/gone-s", "ns/b"}},
		{"a deletion that a broken watch missed", func() {
			w.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/s", Obj: secretFor("b", "3")})
		}, []string{"ns/gone-s", "ns/b"}},
		{"a tombstone without an object", func() { w.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/s"}) }, nil},
		{"nobody is named", func() { w.OnAdd(secretFor("", "4"), false) }, nil},
	} {
		step.event()
		assert.Equal(t, step.want, out.take(), step.name)
	}
}

// informerOf is a kind that was never started.
type informerOf struct{ cache.SharedIndexInformer }

func (i informerOf) Informer() cache.SharedIndexInformer { return i.SharedIndexInformer }

func TestAWatchEndsWithItsContext(t *testing.T) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Secret{}, 0, nil)
	ctx, cancel := context.WithCancel(context.Background())
	Watch(ctx, "test", byLabel, &told{}, informerOf{informer})
	cancel()
	// A second watch can still be added and removed: the first left nothing behind that would stop it.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	WatchClusterScoped(ctx, "test", byLabel, clusterScoped(func(string) {}), informerOf{informer})
}

type clusterScoped func(string)

func (f clusterScoped) Enqueue(name string) { f(name) }
