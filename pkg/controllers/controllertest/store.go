package controllertest

import (
	"fmt"
	"sync"
	"time"

	"github.com/rancher/wrangler/v3/pkg/generic"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Store is what an API server has of one kind, and what the cache shows of it.
type Store[T generic.RuntimeMetaObject] struct {
	// Now stamps what is created.
	Now func() time.Time
	// Lag leaves the cache behind until Sync.
	Lag bool
	// Fail, if set, is asked before each call to the API server ("get", "create", "update", "updateStatus", "patch",
	// "delete").
	Fail func(verb, key string) error

	resource schema.GroupResource
	lock     sync.Mutex
	live     map[string]T
	cached   cache.Indexer
	last     int
	calls    []string
	timers   map[string]time.Duration
}

func newStore[T generic.RuntimeMetaObject](resource schema.GroupResource) *Store[T] {
	return &Store[T]{
		Now:      func() time.Time { return time.Unix(0, 0) },
		resource: resource,
		live:     map[string]T{},
		cached:   cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		timers:   map[string]time.Duration{},
	}
}

// Add puts an object into the API server as it is, with a UID if it has none, and into the cache unless that lags.
func (s *Store[T]) Add(objs ...T) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, obj := range objs {
		obj = copyOf(obj)
		s.stamp(obj)
		s.put(obj)
	}
}

// Remove takes an object out of the API server, and out of the cache unless that lags.
func (s *Store[T]) Remove(namespace, name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.drop(join(namespace, name))
}

// Hide takes an object out of the cache alone, as an informer does whose selector it no longer meets.
func (s *Store[T]) Hide(namespace, name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if obj, ok := s.live[join(namespace, name)]; ok {
		_ = s.cached.Delete(obj)
	}
}

// Sync lets the cache catch up.
func (s *Store[T]) Sync() {
	s.lock.Lock()
	defer s.lock.Unlock()
	var all []any
	for _, obj := range s.live {
		all = append(all, obj)
	}
	_ = s.cached.Replace(all, "")
}

// Live is an object as the API server has it, the zero value where there is none.
func (s *Store[T]) Live(namespace, name string) T {
	s.lock.Lock()
	defer s.lock.Unlock()
	obj, ok := s.live[join(namespace, name)]
	if !ok {
		var none T
		return none
	}
	return copyOf(obj)
}

// Len is how many objects the API server has.
func (s *Store[T]) Len() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.live)
}

// Writes are the calls that changed something or tried to, since the last time this was asked.
func (s *Store[T]) Writes() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// After is when a key was asked to run again, and whether it was.
func (s *Store[T]) After(namespace, name string) (time.Duration, bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	d, ok := s.timers[join(namespace, name)]
	return d, ok
}

// ForgetTimers has After tell of what comes from now on alone.
func (s *Store[T]) ForgetTimers() {
	s.lock.Lock()
	defer s.lock.Unlock()
	clear(s.timers)
}

func (s *Store[T]) enqueue(key string, d time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.timers[key] = d
}

func (s *Store[T]) get(key string) (T, error) {
	var none T
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.fails("get", key); err != nil {
		return none, err
	}
	obj, ok := s.live[key]
	if !ok {
		return none, apierrors.NewNotFound(s.resource, key)
	}
	return copyOf(obj), nil
}

func (s *Store[T]) create(obj T) (T, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	obj = copyOf(obj)
	key := keyOf(obj)
	if err := s.write("create", key); err != nil {
		return obj, err
	}
	if _, ok := s.live[key]; ok {
		return obj, apierrors.NewAlreadyExists(s.resource, key)
	}
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.NewTime(s.Now()))
	s.stamp(obj)
	s.put(obj)
	return copyOf(obj), nil
}

func (s *Store[T]) update(verb string, obj T) (T, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	obj = copyOf(obj)
	key := keyOf(obj)
	if err := s.write(verb, key); err != nil {
		return obj, err
	}
	have, ok := s.live[key]
	if !ok {
		return obj, apierrors.NewNotFound(s.resource, key)
	}
	if have.GetResourceVersion() != obj.GetResourceVersion() || have.GetUID() != obj.GetUID() {
		return obj, apierrors.NewConflict(s.resource, key, fmt.Errorf("it was changed"))
	}
	s.stamp(obj)
	s.put(obj)
	return copyOf(obj), nil
}

func (s *Store[T]) delete(key string, options *metav1.DeleteOptions) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.write("delete", key); err != nil {
		return err
	}
	have, ok := s.live[key]
	if !ok {
		return apierrors.NewNotFound(s.resource, key)
	}
	if options != nil && options.Preconditions != nil {
		// The API server says it in these words, of which the product knows the first.
		p := options.Preconditions
		if p.UID != nil && *p.UID != have.GetUID() {
			return apierrors.NewConflict(s.resource, key, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, have.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != have.GetResourceVersion() {
			return apierrors.NewConflict(s.resource, key, fmt.Errorf("precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", *p.ResourceVersion, have.GetResourceVersion()))
		}
	}
	s.drop(key)
	return nil
}

// write notes a call, and lets it fail before it has done anything.
func (s *Store[T]) write(verb, key string) error {
	s.calls = append(s.calls, verb+" "+key)
	return s.fails(verb, key)
}

func (s *Store[T]) fails(verb, key string) error {
	if s.Fail == nil {
		return nil
	}
	return s.Fail(verb, key)
}

func (s *Store[T]) stamp(obj T) {
	s.last++
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", s.resource.Resource, s.last)))
	}
	obj.SetResourceVersion(fmt.Sprint(s.last))
}

func (s *Store[T]) put(obj T) {
	s.live[keyOf(obj)] = obj
	if !s.Lag {
		_ = s.cached.Add(obj)
	}
}

func (s *Store[T]) drop(key string) {
	obj, ok := s.live[key]
	if !ok {
		return
	}
	delete(s.live, key)
	if !s.Lag {
		_ = s.cached.Delete(obj)
	}
}

func copyOf[T generic.RuntimeMetaObject](obj T) T { return obj.DeepCopyObject().(T) }

func keyOf(obj metav1.Object) string { return join(obj.GetNamespace(), obj.GetName()) }

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
