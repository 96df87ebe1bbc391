package controllertest

import (
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

func (s *Store[T]) patch(key string, pt types.PatchType, data []byte) (T, error) {
	var none T
	s.lock.Lock()
	defer s.lock.Unlock()
	if err := s.write("patch", key); err != nil {
		return none, err
	}
	have, ok := s.live[key]
	if !ok {
		return none, apierrors.NewNotFound(s.resource, key)
	}
	if pt != types.MergePatchType {
		return none, fmt.Errorf("%s is no kind of patch that this store knows", pt)
	}
	obj, err := merged(have, data)
	if err != nil {
		return none, err
	}
	obj.SetUID(have.GetUID())
	s.stamp(obj)
	s.put(obj)
	return copyOf(obj), nil
}

// merged is a copy of an object with a merge patch applied.
func merged[T any](have T, patch []byte) (T, error) {
	var none T
	before, err := json.Marshal(have)
	if err != nil {
		return none, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return none, err
	}
	obj, ok := reflect.New(reflect.TypeOf(have).Elem()).Interface().(T)
	if !ok {
		return none, fmt.Errorf("%T is no pointer to an object", have)
	}
	return obj, json.Unmarshal(after, obj)
}
