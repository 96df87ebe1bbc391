package controllertest

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// List asks the API server; of the options it knows the label selector, Limit and Continue.
func (c *Controller[T, L]) List(namespace string, options metav1.ListOptions) (L, error) {
	var none L
	list, ok := reflect.New(reflect.TypeOf(none).Elem()).Interface().(L)
	if !ok {
		return none, nil
	}
	objects, err := c.list(namespace, options.LabelSelector)
	if err != nil {
		return none, err
	}
	objects, next := page(objects, options)
	if about, err := meta.ListAccessor(list); err == nil {
		about.SetContinue(next)
	}
	return list, meta.SetList(list, objects)
}

// page is the part of a sorted list that the options ask for; next is where the one after it goes on.
func page(objects []runtime.Object, options metav1.ListOptions) (part []runtime.Object, next string) {
	first := slices.IndexFunc(objects, func(obj runtime.Object) bool { return keyOfObject(obj) > options.Continue })
	if first < 0 {
		return nil, ""
	}
	objects = objects[first:]
	if options.Limit <= 0 || int64(len(objects)) <= options.Limit {
		return objects, ""
	}
	objects = objects[:options.Limit]
	return objects, keyOfObject(objects[len(objects)-1])
}

func keyOfObject(obj runtime.Object) string {
	about, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return keyOf(about)
}

func (s *Store[T]) list(namespace, selector string) ([]runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.fails("list", namespace); err != nil {
		return nil, err
	}
	chosen, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for key, obj := range s.live {
		inside := namespace == "" || strings.HasPrefix(key, namespace+"/")
		if inside && chosen.Matches(labels.Set(obj.GetLabels())) {
			objects = append(objects, copyOf(obj))
		}
	}
	slices.SortFunc(objects, func(a, b runtime.Object) int { return strings.Compare(keyOfObject(a), keyOfObject(b)) })
	return objects, nil
}

// Patch asks the API server; it knows merge patches alone.
func (c *ClusterController[T, L]) Patch(name string, pt types.PatchType, data []byte, _ ...string) (T, error) {
	return c.patch(name, pt, data)
}
