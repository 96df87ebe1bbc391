package kube

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func answerVersion(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"major":"1","minor":"37"}`))
}

// call asks a server for its version through a config, and closes what it opened.
func call(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	require.NoError(t, err)
	if pool, ok := cfg.Transport.(*http.Transport); ok {
		defer pool.CloseIdleConnections()
	}
	_, err = client.ServerVersion()
	return err
}

func TestTrustIsWhatTheModeSays(t *testing.T) {
	private, err := newAuthority("private")
	require.NoError(t, err)
	other, err := newAuthority("other")
	require.NoError(t, err)
	both := append(append([]byte{}, other.pem...), private.pem...)

	for _, test := range []struct {
		name    string
		server  *authority
		mode    string
		ca      []byte
		trusted bool
	}{
		{"strict, the given CA", private, TLSStrict, private.pem, true},
		{"strict, another CA", private, TLSStrict, other.pem, false},
		{"strict, a bundle of both while a CA rolls", private, TLSStrict, both, true},
		{"strict does not fall back on the system", publicCA, TLSStrict, private.pem, false},
		{"system-store, a public certificate without a CA", publicCA, TLSSystemStore, nil, true},
		{"system-store, a public certificate beside a given CA", publicCA, TLSSystemStore, private.pem, true},
		{"system-store keeps the given CA", private, TLSSystemStore, private.pem, true},
		{"system-store, a private certificate without its CA", private, TLSSystemStore, nil, false},
		{"system-store, a private certificate with another CA", private, TLSSystemStore, other.pem, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := test.server.serveTLS(t, answerVersion)
			cfg := &rest.Config{Host: server.URL}
			require.NoError(t, WithTrust(cfg, test.mode, test.ca))

			err := call(t, cfg)

			if test.trusted {
				assert.NoError(t, err)
				return
			}
			var unknown x509.UnknownAuthorityError
			assert.ErrorAs(t, err, &unknown)
		})
	}
}

func TestTrustRefusesWhatItCannotHold(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  rest.Config
		mode string
		ca   string
		says string
	}{
		"strict without a CA":  {rest.Config{Host: "https://h"}, TLSStrict, "", "system-store"},
		"an unknown mode":      {rest.Config{Host: "https://h"}, "lenient", "", `"strict","system-store"`},
		"no mode":              {rest.Config{Host: "https://h"}, "", "", `"strict","system-store"`},
		"a CA that is none":    {rest.Config{Host: "https://h"}, TLSSystemStore, "nonsense", "PEM"},
		"plain HTTP":           {rest.Config{Host: "http://h"}, TLSSystemStore, "", "https"},
		"no address":           {rest.Config{}, TLSSystemStore, "", "https://host"},
		"a program":            {rest.Config{Host: "https://h", ExecProvider: &clientcmdapi.ExecConfig{}}, TLSSystemStore, "", "exec"},
		"half a client's pair": {rest.Config{Host: "https://h", TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x")}}, TLSSystemStore, "", "client certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, WithTrust(&test.cfg, test.mode, []byte(test.ca)), test.says)
		})
	}
}

func TestTrustKeepsClientCertificateAndServerName(t *testing.T) {
	private, err := newAuthority("private")
	require.NoError(t, err)
	var subject, host string
	server := private.serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		subject, host = r.TLS.PeerCertificates[0].Subject.CommonName, r.TLS.ServerName
		answerVersion(w, r)
	})
	cert, key := private.issue(t, "admin")
	cfg := &rest.Config{
		Host:            strings.TrimPrefix(server.URL, "https://"), // a bare host must not become plain HTTP
		TLSClientConfig: rest.TLSClientConfig{CertData: cert, KeyData: key, ServerName: "api.example.org"},
	}
	require.NoError(t, WithTrust(cfg, TLSStrict, private.pem))

	require.NoError(t, call(t, cfg))

	assert.Equal(t, "admin", subject)
	assert.Equal(t, "api.example.org", host)
}

func TestEachConfigHasItsOwnPool(t *testing.T) {
	private, err := newAuthority("private")
	require.NoError(t, err)
	one, two := &rest.Config{Host: "https://h"}, &rest.Config{Host: "https://h"}
	require.NoError(t, WithTrust(one, TLSStrict, private.pem))
	require.NoError(t, WithTrust(two, TLSStrict, private.pem))

	assert.NotSame(t, one.Transport, two.Transport)
	assert.NotSame(t, one.Transport, http.DefaultTransport)
}

func TestDownstreamConfigTrustsTheKubeconfigsCA(t *testing.T) {
	private, err := newAuthority("private")
	require.NoError(t, err)
	var path, token string
	server := private.serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		path, token = r.URL.Path, r.Header.Get("Authorization")
		answerVersion(w, r)
	})
	data, err := BuildKubeconfig(server.URL+"/k8s/clusters/c-1", private.pem, "s3cret", "ns")
	require.NoError(t, err)

	cfg, err := DownstreamConfig(data, TLSStrict, time.Minute)
	require.NoError(t, err)
	require.NoError(t, call(t, cfg))

	assert.Equal(t, "/k8s/clusters/c-1/version", path, "a proxy's path prefix stays")
	assert.Equal(t, "Bearer s3cret", token)
}
