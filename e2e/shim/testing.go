package shim

import (
	"testing"

	"github.com/rancher/fleet/e2e/certs"
)

// Run starts a TLS shim in front of a server for one test. If the test fails, the last requests are shown.
func Run(t testing.TB, url string, authority []byte) *TLS {
	t.Helper()
	s, err := NewTLS(url, authority)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			requests := s.Requests()
			t.Logf("requests through the shim:\n%s", s.Counts())
			for _, request := range requests[max(0, len(requests)-30):] {
				t.Log(request)
			}
		}
		s.Close()
	})
	return s
}

// RunProxy starts a forward proxy for one test; see NewProxy.
func RunProxy(t testing.TB, authority *certs.Authority) *Proxy {
	t.Helper()
	p, err := NewProxy(authority)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// RunTCP starts a TCP shim in front of a server for one test.
func RunTCP(t testing.TB, target string) *TCP {
	t.Helper()
	s, err := NewTCP(target)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.Close)
	return s
}
