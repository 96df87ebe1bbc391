package kubetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

func (s *Server) serveObjects(w http.ResponseWriter, r *http.Request, to target) {
	verb := to.verb(r)
	if verb == "watch" {
		s.watch(w, r, to)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	switch verb {
	case "list":
		s.list(w, r, to)
	case "create":
		s.create(w, r, to)
	default:
		existing := s.store.objects[idOf(to)]
		if existing == nil {
			writeStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", to.kind.Resource, to.name))
			return
		}
		s.existing(w, r, to, verb, existing)
	}
}

func (s *Server) existing(w http.ResponseWriter, r *http.Request, to target, verb string, obj *unstructured.Unstructured) {
	switch verb {
	case "get":
		writeJSON(w, http.StatusOK, obj)
	case "update":
		s.update(w, r, to, obj)
	case "patch":
		s.patch(w, r, to, obj)
	case "delete":
		writeJSON(w, http.StatusOK, s.store.remove(idOf(to)))
		s.announce()
	}
}

func filterOf(r *http.Request, to target) (filter, error) {
	query := r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return filter{}, err
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return filter{}, err
	}
	return filter{group: to.kind.Group, resource: to.kind.Resource, namespace: to.namespace, labels: byLabel, fields: byField}, nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, to target) {
	wanted, err := filterOf(r, to)
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	items := []any{}
	for id, obj := range s.store.objects {
		if wanted.covers(id) && wanted.matches(obj) {
			items = append(items, obj.Object)
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"apiVersion": to.kind.GroupVersion().String(),
		"kind":       to.kind.Kind + "List",
		"metadata":   map[string]any{"resourceVersion": strconv.FormatInt(s.store.revision, 10)},
		"items":      items,
	})
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, to target) {
	obj, err := readObject(r)
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	to.name = obj.GetName()
	if s.store.objects[idOf(to)] != nil {
		writeStatus(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, to.name+" already exists")
		return
	}
	writeJSON(w, http.StatusCreated, s.store.put(idOf(to), obj))
	s.announce()
}

func (s *Server) update(w http.ResponseWriter, r *http.Request, to target, existing *unstructured.Unstructured) {
	obj, err := readObject(r)
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	if version := obj.GetResourceVersion(); version != "" && version != existing.GetResourceVersion() {
		writeConflict(w)
		return
	}
	if to.subresource == "status" {
		status := obj.Object["status"]
		obj = existing.DeepCopy()
		obj.Object["status"] = status
	}
	s.write(w, to, existing, obj)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, to target, existing *unstructured.Unstructured) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	patched, err := applyPatch(types.PatchType(r.Header.Get("Content-Type")), to.kind, existing, body)
	if err != nil {
		writeStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		return
	}
	if patched.GetResourceVersion() != existing.GetResourceVersion() {
		writeStatus(w, http.StatusConflict, metav1.StatusReasonConflict, "the patch is for another resource version")
		return
	}
	if patched.GetResourceVersion() != existing.GetResourceVersion() { // a patch that names a version is for that one
		writeConflict(w)
		return
	}
	s.write(w, to, existing, patched)
}

func writeConflict(w http.ResponseWriter) {
	writeStatus(w, http.StatusConflict, metav1.StatusReasonConflict,
		"the object has been modified; please apply your changes to the latest version and try again")
}

// write stores a changed object as the API does: roleRef is immutable, no difference is no new revision, and the last
// finalizer of a deleted object ends it.
func (s *Server) write(w http.ResponseWriter, to target, existing, obj *unstructured.Unstructured) {
	if fmt.Sprint(existing.Object["roleRef"]) != fmt.Sprint(obj.Object["roleRef"]) {
		writeStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "roleRef: cannot change roleRef")
		return
	}
	obj.SetResourceVersion(existing.GetResourceVersion())
	if same(existing, obj) {
		writeJSON(w, http.StatusOK, existing)
		return
	}
	stored := s.store.put(idOf(to), obj)
	if stored.GetDeletionTimestamp() != nil && len(stored.GetFinalizers()) == 0 {
		s.store.remove(idOf(to))
	}
	writeJSON(w, http.StatusOK, stored)
	s.announce()
}

func same(a, b *unstructured.Unstructured) bool {
	left, err1 := json.Marshal(a)
	right, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(left) == string(right)
}

func readObject(r *http.Request) (*unstructured.Unstructured, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if !strings.Contains(r.Header.Get("Content-Type"), "protobuf") {
		return obj, json.Unmarshal(body, &obj.Object)
	}
	// client-go's typed clients speak protobuf.
	typed, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	obj.SetGroupVersionKind(*kind)
	return obj, err
}

func applyPatch(style types.PatchType, kind Kind, existing *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	original, err := json.Marshal(existing)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	switch style {
	case types.StrategicMergePatchType:
		typed, err := scheme.Scheme.New(kind.GroupVersionKind)
		if err != nil {
			return nil, err
		}
		merged, err := strategicpatch.StrategicMergePatch(original, patch, typed)
		if err != nil {
			return nil, err
		}
		return out, json.Unmarshal(merged, &out.Object)
	case types.MergePatchType:
		var changes map[string]any
		if err := errors.Join(json.Unmarshal(original, &out.Object), json.Unmarshal(patch, &changes)); err != nil {
			return nil, err
		}
		out.Object = mergePatch(out.Object, changes)
		return out, nil
	}
	return nil, fmt.Errorf("patch type %s is not supported here", style)
}

// mergePatch is RFC 7386.
func mergePatch(into, patch map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range patch {
		nested, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap:
			below, _ := into[key].(map[string]any)
			into[key] = mergePatch(below, nested)
		default:
			into[key] = value
		}
	}
	return into
}
