package kube

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// WithCallTimeout ends every call through cfg after d, watches and other streams apart. The field Timeout of a rest.Config
// cannot do that: client-go makes it the timeout of the HTTP client, which cuts every watch as well. So Timeout is left 0
// and each request gets a deadline of its own. A second use replaces nothing: the shorter time holds.
func WithCallTimeout(cfg *rest.Config, d time.Duration) {
	cfg.Timeout = 0
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &deadline{next: next, after: d}
	})
}

// deadline is a round tripper that gives each call a time to end.
type deadline struct {
	next  http.RoundTripper
	after time.Duration
}

func (d *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	if isStream(req) {
		return d.next.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), d.after)
	resp, err := d.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &endsCall{ReadCloser: resp.Body, end: cancel}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the pool below.
func (d *deadline) WrappedRoundTripper() http.RoundTripper { return d.next }

// endsCall frees the deadline's timer once the answer has been read.
type endsCall struct {
	io.ReadCloser
	end context.CancelFunc
}

func (b *endsCall) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// isStream recognises requests whose answer has no natural end.
func isStream(req *http.Request) bool {
	if req.Header.Get("Upgrade") != "" {
		return true
	}
	query := req.URL.Query()
	return isTrue(query.Get("watch")) || isTrue(query.Get("follow"))
}

func isTrue(s string) bool { return s == "true" || s == "1" }
