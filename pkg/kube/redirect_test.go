package kube

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A server of a kubeconfig could send the hub to what only the hub can reach, such as the metadata of its machine.
func TestARedirectIsNotFollowed(t *testing.T) {
	private := mustAuthority(t, "private")
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := private.serveTLS(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL+"/secret", code) })
		kubeconfig, err := BuildKubeconfig(server.URL, private.pem, marker, "ns")
		require.NoError(t, err)
		elsewhere := func([]byte, string, time.Duration) (*rest.Config, error) {
			direct := Surroundings{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
			return ElsewhereConfig(server.URL, private.pem, marker, TLSStrict, direct, time.Minute)
		}
		for _, connect := range []func([]byte, string, time.Duration) (*rest.Config, error){DownstreamConfig, UpstreamConfig, elsewhere} {
			cfg, err := connect(kubeconfig, TLSStrict, time.Minute)
			require.NoError(t, err)
			err = call(t, cfg)
			require.ErrorContains(t, err, "redirects")
			assert.NotContains(t, err.Error(), "secret", "where it leads is the server's word")
			var redirect *RedirectError
			require.ErrorAs(t, err, &redirect)
			assert.Equal(t, RedirectError{Status: code, Location: inside.URL + "/secret"}, *redirect)
		}
	}
	assert.Zero(t, reached.Load())
}
