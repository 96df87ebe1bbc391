package kubetest

import (
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type frame struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// announce wakes the watchers; the lock is held.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// watch streams changes until the client or the server goes away.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, to target) {
	wanted, err := filterOf(r, to)
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := func() { w.(http.Flusher).Flush() }
	encoder := json.NewEncoder(w)
	after, frames := s.initial(r, to, wanted)
	for {
		for _, one := range frames {
			if encoder.Encode(one) != nil {
				return
			}
		}
		flush()
		s.lock.Lock()
		changed := s.changed
		frames, after = s.since(wanted, after)
		s.lock.Unlock()
		if len(frames) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// initial is what a watch starts with: nothing after a list, else all that there is.
func (s *Server) initial(r *http.Request, to target, wanted filter) (int64, []frame) {
	s.lock.Lock()
	defer s.lock.Unlock()
	query := r.URL.Query()
	version, _ := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	streamed := query.Get("sendInitialEvents") == "true"
	if version > 0 && !streamed {
		return version, nil
	}
	var frames []frame
	for id, obj := range s.store.objects {
		if wanted.covers(id) && wanted.matches(obj) {
			frames = append(frames, frame{"ADDED", obj.DeepCopy()})
		}
	}
	if streamed {
		bookmark := &unstructured.Unstructured{}
		bookmark.SetGroupVersionKind(to.kind.GroupVersionKind)
		bookmark.SetResourceVersion(strconv.FormatInt(s.store.revision, 10))
		bookmark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		frames = append(frames, frame{"BOOKMARK", bookmark})
	}
	return s.store.revision, frames
}

// since are the events after a revision as the watcher of a selection sees them; the lock is held.
func (s *Server) since(wanted filter, after int64) ([]frame, int64) {
	var frames []frame
	for _, change := range s.store.events {
		if change.revision <= after || !wanted.covers(change.id) {
			continue
		}
		was, is := wanted.matches(change.before), wanted.matches(change.after)
		switch {
		case is && was:
			frames = append(frames, frame{"MODIFIED", change.after.DeepCopy()})
		case is:
			frames = append(frames, frame{"ADDED", change.after.DeepCopy()})
		case was:
			frames = append(frames, frame{"DELETED", change.before.DeepCopy()})
		}
	}
	return frames, s.store.revision
}
