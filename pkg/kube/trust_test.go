package kube

import (
	"crypto/x509"
	"net/http"
	"os"
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

// T04: what is trusted, by the CA that is given, the certificate that is served, and the mode. Where the given CA comes from,
// a cluster's own secret or the configuration, is decided elsewhere: here it is one CA or none.
func TestTrustIsWhatTheModeSays(t *testing.T) {
	private, other := mustAuthority(t, "private"), mustAuthority(t, "other")
	const (
		trusted = "trusted"
		refused = "refused"
		noCA    = "no CA" // a configuration that cannot be: nobody is called
	)
	both := append(append([]byte{}, other.pem...), private.pem...)
	for _, test := range []struct {
		given  string
		ca     []byte
		served string
		server *authority
		// strict and system are the expected outcomes.
		strict, system string
	}{
		{"the private CA", private.pem, "a private certificate", private, trusted, trusted},
		{"the private CA", private.pem, "a public certificate", publicCA, refused, trusted},
		{"the private CA", private.pem, "another private certificate", other, refused, refused},
		{"no CA", nil, "a private certificate", private, noCA, refused},
		{"no CA", nil, "a public certificate", publicCA, noCA, trusted},
		{"no CA", nil, "another private certificate", other, noCA, refused},
		{"a wrong CA", other.pem, "a private certificate", private, refused, refused},
		{"a wrong CA", other.pem, "a public certificate", publicCA, refused, trusted},
		{"two CAs, while one follows the other", both, "a private certificate", private, trusted, trusted},
		{"two CAs, while one follows the other", both, "another private certificate", other, trusted, trusted},
		{"two CAs, while one follows the other", both, "a public certificate", publicCA, refused, trusted},
	} {
		for mode, want := range map[string]string{TLSStrict: test.strict, TLSSystemStore: test.system} {
			t.Run(mode+": "+test.given+", "+test.served, func(t *testing.T) {
				server := test.server.serveTLS(t, answerVersion)
				cfg := &rest.Config{Host: server.URL}
				err := WithTrust(cfg, mode, test.ca)
				if want == noCA {
					require.ErrorContains(t, err, "system-store", "the way out")
					return
				}
				require.NoError(t, err)

				err = call(t, cfg)

				if want == trusted {
					assert.NoError(t, err)
					return
				}
				var unknown x509.UnknownAuthorityError
				assert.ErrorAs(t, err, &unknown)
			})
		}
	}
}

// An agent may have no configuration, or one that says no mode.
func TestAMissingModeWidensNoTrust(t *testing.T) {
	private := mustAuthority(t, "private")
	for _, test := range []struct {
		name    string
		ca      []byte
		server  *authority
		trusted bool
	}{
		{"the CA that was given", private.pem, private, true},
		{"the system's roots beside it", private.pem, publicCA, false},
		{"the system's roots where none was given", nil, publicCA, true},
		{"anything else", nil, private, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			kubeconfig, err := BuildKubeconfig(test.server.serveTLS(t, answerVersion).URL, test.ca, "token", "workspace")
			require.NoError(t, err)
			cfg, err := UpstreamConfig(kubeconfig, "", time.Minute)
			require.NoError(t, err)
			err = call(t, cfg)
			if test.trusted {
				assert.NoError(t, err)
				return
			}
			var unknown x509.UnknownAuthorityError
			assert.ErrorAs(t, err, &unknown)
		})
	}
}

// T05: a strict client takes nothing from the others of its process.
func TestAStrictClientLeavesTheSystemsRootsToOthers(t *testing.T) {
	private := mustAuthority(t, "private")
	behind, public := private.serveTLS(t, answerVersion), publicCA.serveTLS(t, answerVersion)
	env := os.Environ()
	strict := &rest.Config{Host: behind.URL}
	require.NoError(t, WithTrust(strict, TLSStrict, private.pem))
	require.NoError(t, call(t, strict))

	// As a chart is fetched: a client that knows of nothing but the system's roots.
	fetch := &http.Client{Transport: &http.Transport{}}
	defer fetch.CloseIdleConnections()
	for url, want := range map[string]bool{public.URL: true, behind.URL: false} {
		reply, err := fetch.Get(url)
		assert.Equal(t, want, err == nil, "%s: %v", url, err)
		if err == nil {
			reply.Body.Close()
		}
	}
	assert.Equal(t, env, os.Environ(), "nothing is switched by the environment")
	system := &rest.Config{Host: public.URL}
	require.NoError(t, WithTrust(system, TLSSystemStore, nil))
	assert.NoError(t, call(t, system))
	require.NoError(t, call(t, strict), "and the strict one trusts what it did")
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
