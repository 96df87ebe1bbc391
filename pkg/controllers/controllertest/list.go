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

// List asks the API server; of the options it knows the label selector alone.
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
	return list, meta.SetList(list, objects)
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
	slices.SortFunc(objects, func(a, b runtime.Object) int {
		one, _ := meta.Accessor(a)
		other, _ := meta.Accessor(b)
		return strings.Compare(keyOf(one), keyOf(other))
	})
	return objects, nil
}

// Patch asks the API server; it knows merge patches alone.
func (c *ClusterController[T, L]) Patch(name string, pt types.PatchType, data []byte, _ ...string) (T, error) {
	return c.patch(name, pt, data)
}
