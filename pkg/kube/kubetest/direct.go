package kubetest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Put stores an object past the API, as someone else would have, and returns it as stored. Its kind must be set.
func (s *Server) Put(obj runtime.Object) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	s.lock.Lock()
	defer s.lock.Unlock()
	out := s.store.put(s.mustID(stored.GetKind(), stored.GetNamespace(), stored.GetName()), stored)
	s.announce()
	return out
}

// Object is a stored object, nil if there is none.
func (s *Server) Object(kind, namespace, name string) *unstructured.Unstructured {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.store.objects[s.mustID(kind, namespace, name)].DeepCopy()
}

// Remove deletes an object past the API.
func (s *Server) Remove(kind, namespace, name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.store.remove(s.mustID(kind, namespace, name))
	s.announce()
}

// Names are namespace/name of all objects of a kind.
func (s *Server) Names(kind string) []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	names := []string{}
	for _, obj := range s.store.objects {
		if obj.GetKind() == kind {
			names = append(names, obj.GetNamespace()+"/"+obj.GetName())
		}
	}
	return names
}

func (s *Server) mustID(kind, namespace, name string) objectID {
	for _, known := range s.kinds {
		if known.Kind == kind {
			return objectID{known.Group, known.Resource, namespace, name}
		}
	}
	panic(fmt.Sprintf("kind %s is not served", kind))
}
