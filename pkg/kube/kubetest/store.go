package kubetest

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

type objectID struct{ group, resource, namespace, name string }

// event is a change; before or after is nil when there was or is no object.
type event struct {
	revision      int64
	id            objectID
	before, after *unstructured.Unstructured
}

type store struct {
	revision int64
	objects  map[objectID]*unstructured.Unstructured
	events   []event
}

func newStore() store {
	return store{revision: 100, objects: map[objectID]*unstructured.Unstructured{}}
}

func idOf(to target) objectID {
	return objectID{to.kind.Group, to.kind.Resource, to.namespace, to.name}
}

// put stores obj as the next revision; UID and creation time stay what they were.
func (st *store) put(id objectID, obj *unstructured.Unstructured) *unstructured.Unstructured {
	st.revision++
	obj = obj.DeepCopy()
	before := st.objects[id]
	if before == nil {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", st.revision)))
		obj.SetGeneration(1)
	} else {
		obj.SetUID(before.GetUID())
	}
	if id.namespace != "" {
		obj.SetNamespace(id.namespace)
	}
	obj.SetResourceVersion(strconv.FormatInt(st.revision, 10))
	st.objects[id] = obj
	st.events = append(st.events, event{revision: st.revision, id: id, before: before, after: obj})
	return obj.DeepCopy()
}

// remove deletes an object, or marks it where it has finalizers.
func (st *store) remove(id objectID) *unstructured.Unstructured {
	before := st.objects[id]
	if before == nil {
		return nil
	}
	if len(before.GetFinalizers()) > 0 {
		marked := before.DeepCopy()
		if marked.GetDeletionTimestamp() == nil {
			now := metav1.Now()
			marked.SetDeletionTimestamp(&now)
		}
		return st.put(id, marked)
	}
	st.revision++
	delete(st.objects, id)
	last := before.DeepCopy()
	last.SetResourceVersion(strconv.FormatInt(st.revision, 10))
	st.events = append(st.events, event{revision: st.revision, id: id, before: last})
	return last
}

// filter is what a list or a watch is limited to.
type filter struct {
	group, resource, namespace string
	labels                     labels.Selector
	fields                     fields.Selector
}

func (f filter) covers(id objectID) bool {
	return id.group == f.group && id.resource == f.resource && (f.namespace == "" || f.namespace == id.namespace)
}

func (f filter) matches(obj *unstructured.Unstructured) bool {
	if obj == nil {
		return false
	}
	kind, _, _ := unstructured.NestedString(obj.Object, "type")
	set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace(), "type": kind}
	return f.labels.Matches(labels.Set(obj.GetLabels())) && f.fields.Matches(set)
}
