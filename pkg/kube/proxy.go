package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// EnvProxyCA is the variable that holds, as PEM text, the CA of an https proxy. It adds to the system's roots, for the
// connection to the proxy alone: whom a client trusts behind the proxy is WithTrust's to say.
const EnvProxyCA = "PROXY_CA_BUNDLE"

// dialer is how a transport opens a connection.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// throughProxy has a pool that goes by an https proxy make the TLS of that leg itself. A transport would check the proxy's
// certificate with the roots and the server name that are meant for the API server: with a strict CA no proxy of another
// authority could be used. Known for a server's CA, a proxy may show a certificate of that one too.
func throughProxy(pool *http.Transport, host string, serverCA []byte, proxyCA string) error {
	proxy, err := proxyOf(pool, host)
	if err != nil || proxy == nil || proxy.Scheme != "https" {
		return err
	}
	if !plainHost(proxy) {
		return errors.New("the https proxy (HTTPS_PROXY) has a host name with other characters than ASCII: write the name as DNS has it (xn--...)")
	}
	roots, err := proxyRoots(serverCA, proxyCA)
	if err != nil {
		return err
	}
	address, choose := addressOf(proxy), pool.Proxy
	pool.Proxy = func(req *http.Request) (*url.URL, error) {
		chosen, err := choose(req)
		if err != nil || chosen == nil || chosen.Scheme != "https" || addressOf(chosen) != address {
			return chosen, err
		}
		return &url.URL{Scheme: "http", User: chosen.User, Host: address}, nil
	}
	pool.DialContext = dialTLSTo(address, pool.DialContext, &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: proxy.Hostname(), NextProtos: []string{"http/1.1"},
	})
	return nil
}

// dialTLSTo speaks TLS on connections to one address, and leaves all others as they are.
func dialTLSTo(address string, dial dialer, config *tls.Config) dialer {
	return func(ctx context.Context, network, target string) (net.Conn, error) {
		conn, err := dial(ctx, network, target)
		if err != nil || !strings.EqualFold(target, address) {
			return conn, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, &ProxyTLSError{Address: address, Err: err}
		}
		return secured, nil
	}
}

// ProxyTLSError says that no TLS came about with the proxy on the way. What is wrong with a certificate is then said of the
// proxy's.
type ProxyTLSError struct {
	// Address is the proxy's host and port.
	Address string
	Err     error
}

func (e *ProxyTLSError) Error() string {
	return fmt.Sprintf("TLS with the proxy %s (its CA is what %s and the system's roots say): %v", e.Address, EnvProxyCA, e.Err)
}

// Unwrap is what the handshake said.
func (e *ProxyTLSError) Unwrap() error { return e.Err }

// plainHost says that a proxy is dialled by the name that its URL has. A transport translates an international one, and
// the connection to it would not be known as that which has to be secured.
func plainHost(proxy *url.URL) bool {
	return !strings.ContainsFunc(proxy.Hostname(), func(r rune) bool { return r > unicode.MaxASCII })
}

// proxyOf is the proxy on the way to a host, nil where there is none.
func proxyOf(pool *http.Transport, host string) (*url.URL, error) {
	target, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("address %q is no URL", host)
	}
	proxy, err := pool.Proxy(&http.Request{URL: target, Header: http.Header{}})
	if err != nil {
		// What net/http says repeats the URL, and that may hold a password.
		return nil, fmt.Errorf("the proxy for %s (HTTPS_PROXY) is no URL such as http://proxy.example.com:3128", target.Host)
	}
	return proxy, nil
}

func addressOf(proxy *url.URL) string {
	return net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), "443"))
}

// proxyRoots are the system's, what EnvProxyCA adds, and the CA of the server behind the proxy.
func proxyRoots(serverCA []byte, bundle string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's root certificates for the proxy: %w", err)
	}
	if strings.TrimSpace(bundle) != "" && !roots.AppendCertsFromPEM([]byte(bundle)) {
		return nil, fmt.Errorf("%s holds no certificate: it must be PEM, one or more CERTIFICATE blocks", EnvProxyCA)
	}
	roots.AppendCertsFromPEM(serverCA)
	return roots, nil
}

// proxySchemes are those that a proxy-url of a kubeconfig may have.
var proxySchemes = []string{"http", "https", "socks5"}

// refuseProxy keeps the words of the decoder out of errors: they repeat the URL, and that may hold a password.
func refuseProxy(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(proxySchemes, u.Scheme) || u.Hostname() == "" {
		return fmt.Errorf("kubeconfig: cluster.proxy-url must be a URL with one of the schemes %s and a host, such as http://proxy.example.com:3128",
			strings.Join(proxySchemes, ", "))
	}
	if u.Scheme == "https" && !plainHost(u) {
		return errors.New("kubeconfig: cluster.proxy-url has a host name with other characters than ASCII: write the name as DNS has it (xn--...)")
	}
	return nil
}
