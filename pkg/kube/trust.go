package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// TLS modes, as users write them in agentTLSMode.
const (
	// TLSStrict trusts the given CA alone.
	TLSStrict = "strict"
	// TLSSystemStore trusts the system's roots and the given CA.
	TLSSystemStore = "system-store"
)

const (
	dialTimeout      = 10 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idlePerHost      = 25
)

// WithTrust makes cfg trust what mode says and nothing else. The config gets a connection pool of its own, so that no
// other client shares this trust or loses its connections with it; nothing process-wide is touched. A client certificate
// in cfg moves into the pool; credentials that come from plugins (exec, auth provider) are refused.
func WithTrust(cfg *rest.Config, mode string, ca []byte) error {
	return withTrust(cfg, mode, ca, os.Getenv(EnvProxyCA))
}

func withTrust(cfg *rest.Config, mode string, ca []byte, proxyCA string) error {
	roots, err := rootsFor(mode, ca)
	if err != nil {
		return err
	}
	if cfg.ExecProvider != nil || cfg.AuthProvider != nil {
		return errors.New("a TLS mode cannot be combined with an exec or auth-provider credential: use a token or a client certificate")
	}
	certs, err := clientCertificate(cfg)
	if err != nil {
		return err
	}
	cfg.Host, err = httpsHost(cfg.Host)
	if err != nil {
		return err
	}
	pool := newPool(cfg, roots, certs)
	if err := throughProxy(pool, cfg.Host, ca, proxyCA); err != nil {
		return err
	}
	cfg.Transport = pool
	cfg.TLSClientConfig = rest.TLSClientConfig{}
	return nil
}

func rootsFor(mode string, ca []byte) (*x509.CertPool, error) {
	var roots *x509.CertPool
	switch mode {
	case TLSStrict:
		if len(ca) == 0 {
			return nil, errors.New("TLS mode strict needs the CA of the API server and none was given: " +
				"set it (apiServerCA, or certificate-authority-data in a kubeconfig), or use agentTLSMode system-store")
		}
		roots = x509.NewCertPool()
	case TLSSystemStore:
		system, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("TLS mode system-store: reading the system's root certificates: %w", err)
		}
		roots = system
	default:
		return nil, fmt.Errorf("provided config value for agentTLSMode is none of [%q,%q]: %.40q", TLSStrict, TLSSystemStore, mode)
	}
	if len(ca) > 0 && !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA holds no certificate: it must be PEM, one or more CERTIFICATE blocks")
	}
	return roots, nil
}

// clientCertificate reads the pair of cfg, inline or from files.
func clientCertificate(cfg *rest.Config) ([]tls.Certificate, error) {
	var pair tls.Certificate
	var err error
	switch {
	case len(cfg.CertData) > 0 || len(cfg.KeyData) > 0:
		pair, err = tls.X509KeyPair(cfg.CertData, cfg.KeyData)
	case cfg.CertFile != "" || cfg.KeyFile != "":
		pair, err = tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("client certificate and key: %w", err)
	}
	return []tls.Certificate{pair}, nil
}

// httpsHost writes the scheme out. With a pool of its own client-go no longer sees TLS options in the config and would
// take a bare host for plain HTTP.
func httpsHost(host string) (string, error) {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	parsed, err := url.Parse(host)
	if err != nil || parsed.Host == "" {
		return "", errors.New("the API server's address is no URL: it must read https://host[:port][/path]")
	}
	if parsed.Scheme != "https" {
		return "", fmt.Errorf("the API server's address has scheme %.20q: only https keeps the credential secret", parsed.Scheme)
	}
	return host, nil
}

// newPool follows the defaults that client-go gives its own pools, HTTP/2 health checks included.
func newPool(cfg *rest.Config, roots *x509.CertPool, certs []tls.Certificate) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		DialContext:         dial,
		TLSHandshakeTimeout: handshakeTimeout,
		MaxIdleConnsPerHost: idlePerHost,
		DisableCompression:  cfg.DisableCompression,
		TLSClientConfig: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			RootCAs:      roots,
			Certificates: certs,
			ServerName:   cfg.ServerName,
		},
	})
}
