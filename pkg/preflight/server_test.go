package preflight

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// api is as much of an API server as the checks ask.
type api struct {
	*httptest.Server

	version string
	// ahead is how much later its clock is.
	ahead time.Duration
	// token is the one that it knows; without one, everybody is user.
	token, user string
	// may answers access reviews.
	may func(authorizationv1.SelfSubjectAccessReviewSpec) bool
	// objects are answered by their paths.
	objects map[string]runtime.Object
	// before may answer in its place.
	before func(w http.ResponseWriter, r *http.Request) bool

	asked    atomic.Int32
	requests sync.Map
}

// newAPI starts a server with a certificate. Nothing of it may be changed once it is asked.
func newAPI(t *testing.T, pair tls.Certificate, change ...func(*api)) *api {
	t.Helper()
	a := &api{
		version: `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`, user: "system:serviceaccount:ns:importer",
		may:     func(authorizationv1.SelfSubjectAccessReviewSpec) bool { return true },
		objects: map[string]runtime.Object{"/apis/apps/v1/deployments": emptyDeployments()},
	}
	for _, c := range change {
		c(a)
	}
	server := httptest.NewUnstartedServer(a)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	a.Server = server
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	a.requests.Store(r.Method+" "+r.URL.Path, true)
	w.Header().Set("Date", time.Now().Add(a.ahead).UTC().Format(http.TimeFormat))
	switch {
	case a.before != nil && a.before(w, r):
	case a.token != "" && r.Header.Get("Authorization") != "Bearer "+a.token:
		status(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
	case r.URL.Path == "/version":
		answer(w, json.RawMessage(a.version))
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		answer(w, map[string]any{
			"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
			"status": map[string]any{"userInfo": map[string]any{"username": a.user}},
		})
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		review, ok := reviewIn(r.Body)
		if !ok {
			status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "unreadable")
			return
		}
		review.Status.Allowed = a.may(review.Spec)
		review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
		answer(w, review)
	case a.objects[r.URL.Path] != nil:
		answer(w, a.objects[r.URL.Path])
	default:
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
	}
}

// reviewIn reads a question, which clients ask in protobuf.
func reviewIn(body io.Reader) (authorizationv1.SelfSubjectAccessReview, bool) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return authorizationv1.SelfSubjectAccessReview{}, false
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
	if err != nil || !ok {
		return authorizationv1.SelfSubjectAccessReview{}, false
	}
	return *review, true
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: message,
	})
}

// blackHole takes connections and never says anything.
func blackHole(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var taken sync.WaitGroup
	taken.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			taken.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		taken.Wait()
	})
	return listener.Addr().String()
}

// proxy is an HTTP proxy that leads every tunnel to one address.
type proxy struct {
	*httptest.Server

	target string
	refuse int
	// says is the status that it answers with, word for word.
	says    string
	tunnels atomic.Int32
	running sync.WaitGroup
}

// newProxy starts a proxy that speaks TLS with a pair, or none where that is nil.
func newProxy(t *testing.T, target string, pair *tls.Certificate, change ...func(*proxy)) *proxy {
	t.Helper()
	p := &proxy{target: target}
	for _, c := range change {
		c(p)
	}
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if pair == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*pair}}
		server.StartTLS()
	}
	p.Server = server
	t.Cleanup(p.running.Wait)
	t.Cleanup(server.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.says != "" {
		if client, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(client, "HTTP/1.1 "+p.says+"\r\nContent-Length: 0\r\n\r\n")
			client.Close()
		}
		return
	}
	if r.Method != http.MethodConnect || p.refuse != 0 {
		w.WriteHeader(max(p.refuse, http.StatusForbidden))
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	p.tunnels.Add(1)
	p.running.Go(func() {
		// What came right behind the answer lies in the buffer.
		_, _ = io.Copy(server, buffered)
		server.Close()
	})
	_, _ = io.Copy(client, server)
}
