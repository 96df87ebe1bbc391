package shim

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/certs"
)

// through is a client that reaches everything by a proxy, of which it trusts the authority.
func through(t *testing.T, p *Proxy, pool *x509.CertPool) *http.Client {
	t.Helper()
	address, err := url.Parse(p.URL())
	require.NoError(t, err)
	transport := &http.Transport{Proxy: http.ProxyURL(address), TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestProxyTakesConnectionsToTheirRouteAndNoOthers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	t.Cleanup(server.Close)
	authority, err := certs.NewAuthority("hub")
	require.NoError(t, err)
	secure, err := NewTLS("https://127.0.0.1:1", authority.Cert)
	require.NoError(t, err)
	t.Cleanup(secure.Close)
	require.NoError(t, secure.Serve(authority, certLife, "hub.invalid"))

	p := RunProxy(t, nil)
	p.Route("hub.invalid:443", secure.URL())
	client := through(t, p, authority.Pool())

	_, err = client.Get("https://hub.invalid/x")
	require.ErrorContains(t, err, "EOF", "the shim was reached, and nobody stands behind it")
	require.Equal(t, map[string]int{"hub.invalid:443": 1}, p.Tunnels())
	_, err = client.Get("https://elsewhere.invalid/x")
	require.ErrorContains(t, err, http.StatusText(http.StatusForbidden))
	reply, err := client.Get(server.URL)
	require.NoError(t, err)
	reply.Body.Close()
	require.Equal(t, http.StatusForbidden, reply.StatusCode, "it does nothing but CONNECT")
}

func TestProxyShowsACertificateThatCanBeSwapped(t *testing.T) {
	one, err := certs.NewAuthority("one")
	require.NoError(t, err)
	two, err := certs.NewAuthority("two")
	require.NoError(t, err)
	p := RunProxy(t, one)
	ask := func(pool *x509.CertPool) error {
		reply, err := through(t, p, pool).Get("https://elsewhere.invalid/x")
		if err == nil {
			reply.Body.Close()
		}
		return err
	}
	forbidden := http.StatusText(http.StatusForbidden)
	require.ErrorContains(t, ask(one.Pool()), forbidden, "the proxy was reached, and has no route")
	require.ErrorContains(t, ask(two.Pool()), "unknown authority")
	require.NoError(t, p.SwapCA(two))
	require.ErrorContains(t, ask(two.Pool()), forbidden)
	require.ErrorContains(t, ask(one.Pool()), "unknown authority")
}
