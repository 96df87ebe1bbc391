package shim

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
)

// upstream is the way to the server.
type upstream struct {
	base      *url.URL
	transport *http.Transport
	proxy     *httputil.ReverseProxy
}

func newUpstream(server string, pool *x509.CertPool) (*upstream, error) {
	base, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("URL of the server behind the shim: %w", err)
	}
	if base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("URL of the server behind the shim: %q is not https://host:port", server)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	u := &upstream{base: base, transport: transport}
	u.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport:     transport,
		FlushInterval: -1, // watches must flow
		ErrorLog:      log.New(io.Discard, "", 0),
		// A forwarder has no answer of its own: a server that is down is a connection that breaks.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return u, nil
}

// ServeHTTP counts a request and forwards it, or does what a rule says.
func (s *TLS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.handlers.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.active.Done()
	key, object, err := count.FromRequest(r)
	if err != nil {
		key = count.Key{Verb: r.Method, Path: r.URL.Path, UserAgent: count.ClientName(r.UserAgent())}
	}
	request := s.ledger.arrived(key, object)
	recorder := &statusRecorder{ResponseWriter: w, status: func(code int) { s.ledger.answered(request.Number, code) }}
	injection := s.rules.match(request)
	if injection == nil {
		s.upstream.Load().proxy.ServeHTTP(recorder, r)
		return
	}
	s.harm(recorder, r, request, injection)
}

// harm does to one request what its rule says.
func (s *TLS) harm(w http.ResponseWriter, r *http.Request, request Request, injection *Injection) {
	fault := injection.rule.Fault
	if injection.rule.Before != nil {
		injection.rule.Before(request)
	}
	if fault.forward {
		code, err := s.forwardAndDrop(r)
		if err == nil {
			s.ledger.answered(request.Number, code)
		}
	}
	injection.hit(request)
	switch fault.then {
	case pass:
		s.upstream.Load().proxy.ServeHTTP(w, r)
	case abort:
		panic(http.ErrAbortHandler)
	case hang:
		select {
		case <-r.Context().Done():
		case <-injection.removed:
		}
		panic(http.ErrAbortHandler)
	case answer:
		writeStatus(w, fault.code)
	}
}

// forwardLimit ends a request that nobody waits for any more.
const forwardLimit = 30 * time.Second

// forwardAndDrop lets the server act on a request whose client may be gone, and throws the answer away.
func (s *TLS) forwardAndDrop(r *http.Request) (int, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, fmt.Errorf("body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	u := s.upstream.Load()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), forwardLimit)
	defer cancel()
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = u.base.Scheme, u.base.Host, "", ""
	out.Body = io.NopCloser(bytes.NewReader(body))
	response, err := u.transport.RoundTrip(out)
	if err != nil {
		return 0, fmt.Errorf("forward %s %s: %w", r.Method, r.URL.Path, err)
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// writeStatus answers in the server's place, in the form that clients know from it.
func writeStatus(w http.ResponseWriter, code int) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: "answered by the fault shim",
	}
	body, err := json.Marshal(status)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// reasons are what clients look at beside the code.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// statusRecorder notes the code of an answer; Unwrap lets the proxy flush and take over connections.
type statusRecorder struct {
	http.ResponseWriter
	status func(int)
}

func (r *statusRecorder) WriteHeader(code int) {
	r.status(code)
	r.ResponseWriter.WriteHeader(code)
}

func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
