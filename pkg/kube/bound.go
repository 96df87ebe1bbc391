package kube

import (
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// MaxAnswer is the largest answer that is read from a cluster that is not trusted, in bytes. client-go reads an answer to its
// end before it looks at it, so without a bound one cluster could take all of this process's memory.
const MaxAnswer = 16 << 20

// withBoundedAnswers ends the reading of an answer after max bytes with an error. Watches and other streams have no end and
// are left alone: what reads them decodes one event at a time.
func withBoundedAnswers(cfg *rest.Config, max int64) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &bounded{next: next, max: max}
	})
}

// bounded is a round tripper that reads no more of an answer than it may.
type bounded struct {
	next http.RoundTripper
	max  int64
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil || isStream(req) {
		return resp, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: b.max, refusal: &tooLarge{method: req.Method, path: req.URL.Path, max: b.max}}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the pool below.
func (b *bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

type boundedBody struct {
	io.ReadCloser
	left    int64
	refusal error
}

// Read asks for one byte more than is left, which tells an answer that is just small enough from one that is not.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.refusal
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), b.refusal
		b.left = -1
		return n, err
	}
	b.left -= int64(n)
	return n, err
}

// tooLarge is an answer that was not read to its end.
type tooLarge struct {
	method, path string
	max          int64
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("the answer to %s %s is larger than %d bytes, the most that is read from another cluster", e.method, e.path, e.max)
}
