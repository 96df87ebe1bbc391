package apitest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// watch streams events until the client goes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, call Call) {
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(w)
	send := func(kind string, object any) bool {
		return out.Encode(map[string]any{"type": kind, "object": object}) == nil
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		var initial []*unstructured.Unstructured
		initial, from = s.state(call)
		for _, u := range initial {
			send("ADDED", u)
		}
		send("BOOKMARK", bookmark(call, from))
	}
	for {
		w.(http.Flusher).Flush()
		pending, moved := s.since(from)
		for _, e := range pending {
			from = e.rv
			if call.selects(e.key) && !send(e.kind, e.object) {
				return
			}
		}
		if len(pending) > 0 {
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-moved:
		}
	}
}

func (s *Server) state(call Call) ([]*unstructured.Unstructured, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*unstructured.Unstructured
	for k, u := range s.objects {
		if call.selects(k) {
			out = append(out, u.DeepCopy())
		}
	}
	return out, s.rv
}

func (s *Server) since(rv int64) ([]event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.events {
		if e.rv > rv {
			return s.events[i:len(s.events):len(s.events)], s.moved
		}
	}
	return nil, s.moved
}

func bookmark(call Call, rv int64) map[string]any {
	return map[string]any{
		"apiVersion": call.apiVersion, "kind": kindOf(call.Resource),
		"metadata": map[string]any{
			"resourceVersion": strconv.FormatInt(rv, 10),
			"annotations":     map[string]any{"k8s.io/initial-events-end": "true"},
		},
	}
}
