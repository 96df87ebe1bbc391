// Package kubetest is an API server for tests: in memory, over HTTP, small. It serves discovery, get, list, watch, create,
// update, patch and delete of the kinds that it is given, so that informers, controllers and the apply engine run against
// it as they are; it records every request and can be made to fail. It checks no schema and knows no authorization.
//
// Only tests import it.
package kubetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Kind is a kind that the server serves.
type Kind struct {
	schema.GroupVersionKind
	Resource   string
	Namespaced bool
}

// Request is what a client asked for.
type Request struct {
	Verb, Path, LabelSelector, FieldSelector, UserAgent string
}

// Server is one API server.
type Server struct {
	// URL is its address.
	URL string

	http     *httptest.Server
	kinds    []Kind
	stopping chan struct{}

	lock      sync.Mutex
	store     store
	changed   chan struct{}
	requests  []Request
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

// New starts a server, with the kinds that a hub deals with unless others are given. The test's end ends it.
func New(t testing.TB, kinds ...Kind) *Server {
	if len(kinds) == 0 {
		kinds = HubKinds()
	}
	s := &Server{kinds: kinds, stopping: make(chan struct{}), changed: make(chan struct{}), store: newStore()}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(func() {
		close(s.stopping)
		s.http.Close()
	})
	return s
}

// Config is a client config for the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// Intercept lets fn see each request first. If fn returns true it has answered.
func (s *Server) Intercept(fn func(w http.ResponseWriter, r *http.Request) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.intercept = fn
}

// Hang gives no answer until the client or the server goes away, for use in Intercept.
func (s *Server) Hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // an unread body would hide that the client went away
	select {
	case <-r.Context().Done():
	case <-s.stopping:
	}
}

// Disconnect cuts all connections, open watches among them.
func (s *Server) Disconnect() { s.http.CloseClientConnections() }

// Requests are all requests so far; Reset forgets them.
func (s *Server) Requests() []Request {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.requests)
}

// Writes are the requests so far that change something.
func (s *Server) Writes() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool {
		return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
	})
}

// Reset forgets the requests so far.
func (s *Server) Reset() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	intercept := s.intercept
	s.lock.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	if s.serveDiscovery(w, r) {
		return
	}
	target, ok := s.route(r)
	if !ok {
		writeStatus(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		return
	}
	s.record(r, target)
	s.serveObjects(w, r, target)
}

func (s *Server) record(r *http.Request, to target) {
	query := r.URL.Query()
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = append(s.requests, Request{
		Verb:          to.verb(r),
		Path:          r.URL.Path,
		LabelSelector: query.Get("labelSelector"),
		FieldSelector: query.Get("fieldSelector"),
		UserAgent:     r.UserAgent(),
	})
}

// target is what a path points to.
type target struct {
	kind                         Kind
	namespace, name, subresource string
}

func (t target) verb(r *http.Request) string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete:
		return "delete"
	case t.name != "":
		return "get"
	case isWatch(r):
		return "watch"
	}
	return "list"
}

func isWatch(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// route reads /api/v1/… and /apis/<group>/<version>/….
func (s *Server) route(r *http.Request) (target, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) > 2 && parts[0] == "api":
		gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return target{}, false
	}
	var to target
	if len(parts) > 2 && parts[0] == "namespaces" {
		to.namespace, parts = parts[1], parts[2:]
	}
	for _, kind := range s.kinds {
		if kind.GroupVersion() == gv && kind.Resource == parts[0] {
			to.kind = kind
			if len(parts) > 1 {
				to.name = parts[1]
			}
			if len(parts) > 2 {
				to.subresource = parts[2]
			}
			return to, true
		}
	}
	return target{}, false
}
