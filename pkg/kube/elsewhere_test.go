package kube

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAConfigForElsewhereHasTheProxyAndItsCAOfThere(t *testing.T) {
	hub, proxyCA := mustAuthority(t, "hub"), mustAuthority(t, "proxy")
	server := hub.serveTLS(t, answerVersion)
	proxy, address := proxyTo(t, server, proxyCA)
	t.Setenv(EnvProxyCA, "nonsense of this process")
	around := Surroundings{Proxy: http.ProxyURL(address), ProxyCA: string(proxyCA.pem)}

	cfg, err := ElsewhereConfig("https://"+hubName, hub.pem, "token", TLSStrict, around, time.Minute)
	require.NoError(t, err)
	require.NoError(t, call(t, cfg))
	assert.Positive(t, proxy.tunnels.Load(), "the call went through the proxy")

	around.ProxyCA = ""
	cfg, err = ElsewhereConfig("https://"+hubName, hub.pem, "token", TLSStrict, around, time.Minute)
	require.NoError(t, err)
	assert.ErrorContains(t, call(t, cfg), EnvProxyCA)

	direct := Surroundings{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	cfg, err = ElsewhereConfig(server.URL, hub.pem, "token", TLSStrict, direct, time.Minute)
	require.NoError(t, err)
	assert.NoError(t, call(t, cfg))
}
