package kube

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// hubName resolves nowhere: only a proxy knows the way.
const hubName = "api.example.org"

// connectProxy is a proxy that takes every connection to one server.
type connectProxy struct {
	target string
	// authorization is what the last client brought.
	authorization atomic.Value
	tunnels       atomic.Int32
	running       sync.WaitGroup
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.authorization.Store(r.Header.Get("Proxy-Authorization"))
	if r.Method != http.MethodConnect || r.ProtoMajor != 1 {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, sent, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	p.tunnels.Add(1)
	p.running.Go(func() {
		_, _ = io.Copy(server, sent) // what the client was quick to send lies in the buffer already
		server.Close()
	})
	_, _ = io.Copy(client, server)
}

// proxyTo starts a proxy that speaks TLS with a certificate of an authority, or none where that is nil.
func proxyTo(t *testing.T, server *httptest.Server, authority *authority) (*connectProxy, *url.URL) {
	t.Helper()
	p := &connectProxy{target: server.Listener.Addr().String()}
	var front *httptest.Server
	if authority == nil {
		front = httptest.NewServer(p)
		t.Cleanup(front.Close)
	} else {
		front = authority.serveTLS(t, p.ServeHTTP)
	}
	t.Cleanup(p.running.Wait)
	address, err := url.Parse(front.URL)
	require.NoError(t, err)
	return p, address
}

// P04: whom a client trusts behind a proxy and how it trusts the proxy are two matters.
func TestAProxyIsTrustedOnItsOwn(t *testing.T) {
	hub, proxyCA, stranger := mustAuthority(t, "hub"), mustAuthority(t, "proxy"), mustAuthority(t, "stranger")
	for _, test := range []struct {
		name   string
		hub    *authority
		proxy  *authority
		bundle []byte
		mode   string
		// refuses is a part of the error, empty where the call is to go through.
		refuses string
	}{
		{"plain proxy, strict", hub, nil, nil, TLSStrict, ""},
		{"plain proxy, system-store", hub, nil, nil, TLSSystemStore, ""},
		{"https proxy of a public authority, strict", hub, publicCA, nil, TLSStrict, ""},
		{"https proxy of a private authority that is given, strict", hub, proxyCA, proxyCA.pem, TLSStrict, ""},
		{"https proxy of a private authority that is given, system-store", hub, proxyCA, proxyCA.pem, TLSSystemStore, ""},
		{"https proxy of the hub's own authority", hub, hub, nil, TLSStrict, ""},
		{"https proxy of a private authority that is not given", hub, proxyCA, nil, TLSStrict, EnvProxyCA},
		{"https proxy of another authority than the given one", hub, stranger, proxyCA.pem, TLSSystemStore, EnvProxyCA},
		{"the bundle does not replace the system's roots", hub, publicCA, proxyCA.pem, TLSStrict, ""},
		{"the proxy's authority says nothing of the hub", proxyCA, proxyCA, proxyCA.pem, TLSStrict, "unknown authority"},
		{"nor do the system's roots, in strict", publicCA, publicCA, nil, TLSStrict, "unknown authority"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(EnvProxyCA, string(test.bundle))
			server := test.hub.serveTLS(t, answerVersion)
			proxy, address := proxyTo(t, server, test.proxy)
			cfg := &rest.Config{Host: "https://" + hubName, Proxy: http.ProxyURL(address)}
			require.NoError(t, WithTrust(cfg, test.mode, hub.pem))

			err := call(t, cfg)

			if test.refuses == "" {
				require.NoError(t, err)
				assert.Positive(t, proxy.tunnels.Load(), "the call went through the proxy")
				return
			}
			require.ErrorContains(t, err, test.refuses)
			var unknown x509.UnknownAuthorityError
			assert.ErrorAs(t, err, &unknown)
			var atProxy *ProxyTLSError
			assert.Equal(t, test.refuses == EnvProxyCA, errors.As(err, &atProxy), "whose certificate it is")
		})
	}
}

func TestTheNameOfTheServerIsNotThatOfTheProxy(t *testing.T) {
	hub := mustAuthority(t, "hub")
	server := hub.serveTLS(t, answerVersion)
	_, address := proxyTo(t, server, publicCA)
	cfg := &rest.Config{
		Host: "https://somewhere.invalid", Proxy: http.ProxyURL(address),
		TLSClientConfig: rest.TLSClientConfig{ServerName: hubName},
	}
	require.NoError(t, WithTrust(cfg, TLSStrict, hub.pem))
	assert.NoError(t, call(t, cfg), "tls-server-name is checked behind the proxy, not at it")
}

// A transport dials an international name in its translated form. A proxy that is not known by that one would be spoken to
// in the clear, and be sent its password so.
func TestAnHTTPSProxyWithAnInternationalNameIsRefused(t *testing.T) {
	for _, name := range []string{"pr\u00f3xy.example", "pr%C3%B3xy.example:8443"} {
		raw := "https://jane:" + marker + "@" + name
		proxy, err := url.Parse(raw)
		require.NoError(t, err)
		cfg := &rest.Config{Host: "https://" + hubName, Proxy: http.ProxyURL(proxy)}
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			assert.Fail(t, "nothing is to be dialled")
			return nil, net.ErrClosed
		}
		err = WithTrust(cfg, TLSSystemStore, nil)
		require.ErrorContains(t, err, "xn--")
		assert.NotContains(t, err.Error(), marker)

		_, err = ParseKubeconfig(kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = raw
		}))
		require.ErrorContains(t, err, "cluster.proxy-url")
		require.ErrorContains(t, err, "xn--")
		assert.NotContains(t, err.Error(), marker)
	}
	for _, plain := range []string{"https://xn--prxy-0qa.example", "http://pr\u00f3xy.example:3128", "https://[fe80::1%25eth0]:3128"} {
		proxy, err := url.Parse(plain)
		require.NoError(t, err)
		assert.NoError(t, WithTrust(&rest.Config{Host: "https://" + hubName, Proxy: http.ProxyURL(proxy)}, TLSSystemStore, nil), plain)
	}
}

func TestABundleThatIsNoneIsNamedWhereItIsNeeded(t *testing.T) {
	t.Setenv(EnvProxyCA, "nonsense")
	secure := &rest.Config{Host: "https://h", Proxy: http.ProxyURL(&url.URL{Scheme: "https", Host: "proxy"})}
	assert.ErrorContains(t, WithTrust(secure, TLSSystemStore, nil), EnvProxyCA)
	for _, cfg := range []*rest.Config{
		{Host: "https://h", Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"})},
		{Host: "https://h"},
	} {
		assert.NoError(t, WithTrust(cfg, TLSSystemStore, nil), "nobody asks for it")
	}
}

// P01: a kubeconfig says how the hub reaches its cluster. The proxy learns the address, and no credential.
func TestTheProxyOfAKubeconfigIsUsed(t *testing.T) {
	hub := mustAuthority(t, "downstream")
	var token string
	server := hub.serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		answerVersion(w, r)
	})
	proxy, address := proxyTo(t, server, nil)
	address.User = url.UserPassword("jane", "proxy-password")
	kubeconfig := kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.Server, c.CertificateAuthorityData, c.ProxyURL = "https://"+hubName, hub.pem, address.String()
	})
	cfg, err := DownstreamConfig(kubeconfig, TLSStrict, time.Minute)
	require.NoError(t, err)

	require.NoError(t, call(t, cfg))

	assert.Equal(t, "Bearer "+marker, token)
	assert.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("jane:proxy-password")), proxy.authorization.Load())
}

func TestAProxyURLThatIsNoneIsRefusedByField(t *testing.T) {
	for _, bad := range []string{
		"://" + marker, "proxy:3128", "ftp://u:" + marker + "@proxy", "http://", "file:///etc/" + marker, "http://[::1", "http://a b/" + marker,
	} {
		_, err := ParseKubeconfig(kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = bad
		}))
		require.ErrorContains(t, err, "cluster.proxy-url", bad)
		assert.NotContains(t, err.Error(), marker)
	}
	for _, good := range []string{"http://proxy:3128", "https://proxy", "socks5://127.0.0.1:1080"} {
		cfg, err := ParseKubeconfig(kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.ProxyURL = good
		}))
		require.NoError(t, err)
		used, err := cfg.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "h"}})
		require.NoError(t, err)
		assert.Equal(t, good, used.String())
	}
}

func TestATokenThatNoHeaderCanHoldIsRefusedByField(t *testing.T) {
	for _, bad := range []string{marker + "\n", " " + marker, "a\x00" + marker, strings.Repeat("ü", 3) + marker} {
		_, err := ParseKubeconfig(kubeconfigWith(t, func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token = bad
		}))
		require.ErrorContains(t, err, "user.token")
		assert.NotContains(t, err.Error(), marker)
	}
}
