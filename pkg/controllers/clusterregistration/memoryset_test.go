package clusterregistration

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/desired"
)

// memorySet stands in for an apply set: it writes what differs, and puts accounts where the handler looks for them.
type memorySet struct {
	hub  *hub
	name string
	has  map[string][]runtime.Object
}

func newSet(h *hub, name string) *memorySet {
	return &memorySet{hub: h, name: name, has: map[string][]runtime.Object{}}
}

func (s *memorySet) Apply(_ context.Context, owner desired.Owner, objs ...runtime.Object) error {
	key := owner.GetNamespace() + "/" + owner.GetName()
	if reflect.DeepEqual(s.has[key], objs) && s.complete(objs) {
		return nil
	}
	if err := s.hub.script(s.name)("apply", key); err != nil {
		return err
	}
	s.has[key] = objs
	for _, obj := range objs {
		if account, ok := obj.(*corev1.ServiceAccount); ok && s.hub.accounts.Live(account.Namespace, account.Name) == nil {
			s.hub.accounts.Add(account)
		}
	}
	return nil
}

func (s *memorySet) complete(objs []runtime.Object) bool {
	for _, obj := range objs {
		if account, ok := obj.(*corev1.ServiceAccount); ok && s.hub.accounts.Live(account.Namespace, account.Name) == nil {
			return false
		}
	}
	return true
}

func (s *memorySet) Remove(_ context.Context, kind schema.GroupVersionKind, namespace, name string) error {
	key := namespace + "/" + name
	if len(s.has[key]) == 0 || kind != registrationKind {
		return nil
	}
	if err := s.hub.script(s.name)("remove", key); err != nil {
		return err
	}
	for _, obj := range s.has[key] {
		if account, ok := obj.(*corev1.ServiceAccount); ok {
			s.hub.accounts.Remove(account.Namespace, account.Name)
		}
	}
	delete(s.has, key)
	return nil
}
