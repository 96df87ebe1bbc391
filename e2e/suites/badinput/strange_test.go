package badinput_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/shim"
)

// strange are servers that a kubeconfig may lead to and that are no API servers.
type strange struct {
	authority *certs.Authority
	// url of each kind.
	html, failing, moved, plain, liar, endless, refusing, silent string
}

func newStrange(t *testing.T, b *bed) *strange {
	t.Helper()
	authority, err := certs.NewAuthority("strange")
	require.NoError(t, err)
	s := &strange{authority: authority}
	s.html = s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><script>alert(1)</script>\x1b[31m"+strings.Repeat("welcome ", 4096)+"</html>")
	})
	s.failing = s.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Errorf("the hub went where a server of a kubeconfig sent it")
	}))
	t.Cleanup(inside.Close)
	s.moved = s.serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
	s.liar = s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}`)
	})
	s.endless = s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range 64 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	s.plain = strings.Replace(plain.URL, "http://", "https://", 1)
	refusing, silent := shim.RunTCP(t, b.edge.URL), shim.RunTCP(t, b.edge.URL)
	refusing.Refuse()
	require.NoError(t, silent.BlackHole())
	s.refusing, s.silent = refusing.URL(), silent.URL()
	return s
}

// serve answers https requests with a certificate of the strangers' authority.
func (s *strange) serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	pair, err := s.authority.Server("strange", time.Hour, "127.0.0.1", "localhost")
	require.NoError(t, err)
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return fmt.Sprintf("https://%s", server.Listener.Addr())
}
