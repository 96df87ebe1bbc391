package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	call, ok := parse(r)
	if !ok {
		if !s.discover(w, r.URL.Path) {
			http.NotFound(w, r)
		}
		return
	}
	guards, after := s.note(call)
	for _, guard := range guards {
		switch code := guard(call); code {
		case 0:
		case Drop:
			panic(http.ErrAbortHandler)
		case -http.StatusForbidden, -http.StatusNotFound:
			http.Error(w, "<html>a proxy</html>", -code)
			return
		default:
			refuse(w, call, code)
			return
		}
	}
	if call.Verb == "watch" {
		s.watch(w, r, call)
		return
	}
	s.answerCall(w, call)
	if after != nil {
		after(call)
	}
}

func (s *Server) note(call Call) ([]Guard, func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	var guards []Guard
	for _, name := range s.order {
		if guard := s.guards[name]; guard != nil {
			guards = append(guards, guard)
		}
	}
	return guards, s.after
}

func (c Call) groupResource() schema.GroupResource {
	group, resource, _ := strings.Cut(c.Resource, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

func refuse(w http.ResponseWriter, call Call, code int) {
	resource := call.groupResource()
	switch code {
	case http.StatusUnauthorized:
		fail(w, apierrors.NewUnauthorized("Unauthorized"))
	case http.StatusForbidden:
		fail(w, apierrors.NewForbidden(resource, call.Name, fmt.Errorf("not allowed to %s", call.Verb)))
	case http.StatusNotFound:
		fail(w, apierrors.NewNotFound(resource, call.Name))
	default:
		fail(w, apierrors.NewGenericServerResponse(code, call.Verb, resource, call.Name, "refused by the test", 0, false))
	}
}

func (s *Server) answerCall(w http.ResponseWriter, call Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(call.Resource, call.Namespace, call.Name)
	live := s.objects[k]
	if live == nil && call.Verb != "list" && call.Verb != "create" {
		fail(w, apierrors.NewNotFound(call.groupResource(), call.Name))
		return
	}
	switch call.Verb {
	case "get":
		answer(w, http.StatusOK, live)
	case "list":
		answer(w, http.StatusOK, s.list(call))
	case "create":
		s.create(w, call)
	case "update":
		s.update(w, call, k, live)
	case "patch":
		s.patch(w, call, k, live)
	case "delete":
		s.delete(w, call, k, live)
	}
}

func (s *Server) list(call Call) map[string]any {
	items := []any{}
	for k, u := range s.objects {
		if call.selects(k) {
			items = append(items, u.Object)
		}
	}
	return map[string]any{
		"apiVersion": call.apiVersion, "kind": kindOf(call.Resource) + "List", "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatInt(s.rv, 10)},
	}
}

// selects says whether a list or watch concerns the object of that key.
func (c Call) selects(k string) bool {
	parts := strings.Split(k, "|")
	if parts[0] != c.Resource || (c.Namespace != "" && parts[1] != c.Namespace) {
		return false
	}
	return c.FieldSelector == "" || c.FieldSelector == "metadata.name="+parts[2]
}

func decode(w http.ResponseWriter, body []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &u.Object); err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return nil
	}
	return u
}

func (s *Server) create(w http.ResponseWriter, call Call) {
	u := decode(w, call.Body)
	if u == nil {
		return
	}
	u.SetNamespace(call.Namespace)
	k := key(call.Resource, call.Namespace, u.GetName())
	if s.objects[k] != nil {
		fail(w, apierrors.NewAlreadyExists(call.groupResource(), u.GetName()))
		return
	}
	s.store(k, u)
	answer(w, http.StatusCreated, u)
}

func (s *Server) update(w http.ResponseWriter, call Call, k string, live *unstructured.Unstructured) {
	u := decode(w, call.Body)
	if u == nil {
		return
	}
	if rv := u.GetResourceVersion(); rv != "" && rv != live.GetResourceVersion() {
		fail(w, apierrors.NewConflict(call.groupResource(), call.Name, fmt.Errorf("the object has been modified")))
		return
	}
	u.SetUID(live.GetUID())
	s.store(k, u)
	answer(w, http.StatusOK, u)
}

func (s *Server) patch(w http.ResponseWriter, call Call, k string, live *unstructured.Unstructured) {
	before, err := json.Marshal(live.Object)
	var patched []byte
	if err == nil && call.ContentType == string(types.JSONPatchType) {
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(call.Body); err == nil {
			patched, err = patch.Apply(before)
		}
	} else if err == nil {
		patched, err = jsonpatch.MergePatch(before, call.Body)
	}
	if err != nil {
		fail(w, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false))
		return
	}
	if u := decode(w, patched); u != nil {
		s.store(k, u)
		answer(w, http.StatusOK, u)
	}
}

func (s *Server) delete(w http.ResponseWriter, call Call, k string, live *unstructured.Unstructured) {
	var options metav1.DeleteOptions
	if len(call.Body) > 0 {
		if err := json.Unmarshal(call.Body, &options); err != nil {
			fail(w, apierrors.NewBadRequest(err.Error()))
			return
		}
	}
	if p := options.Preconditions; p != nil {
		if (p.UID != nil && *p.UID != live.GetUID()) || (p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion()) {
			fail(w, apierrors.NewConflict(call.groupResource(), call.Name, fmt.Errorf("the precondition does not hold")))
			return
		}
	}
	s.remove(k)
	answer(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}
