package kube

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// withoutRedirects takes a redirect for an error. No API server sends one; one that is not ours could have this process
// fetch what only it can reach, without TLS, and show in an error what came of that.
func withoutRedirects(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &straight{next: next} })
}

// straight is a round tripper that goes no further than to the server that it was given.
type straight struct{ next http.RoundTripper }

func (s *straight) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		resp.Body.Close()
		return nil, fmt.Errorf("the server redirects to another address (%d), which is not followed: name the address of the API server itself", resp.StatusCode)
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the pool below.
func (s *straight) WrappedRoundTripper() http.RoundTripper { return s.next }
