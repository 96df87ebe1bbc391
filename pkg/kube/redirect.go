package kube

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// RedirectError says that a server answered with a redirect, which is not followed. Where it leads is the server's word:
// the error's text leaves it out.
type RedirectError struct {
	// Status is the HTTP status.
	Status int
	// Location is untrusted: it may be no URL, and may hold secrets.
	Location string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server redirects to another address (%d), which is not followed: name the address of the API server itself", e.Status)
}

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
		return nil, &RedirectError{Status: resp.StatusCode, Location: resp.Header.Get("Location")}
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the pool below.
func (s *straight) WrappedRoundTripper() http.RoundTripper { return s.next }
