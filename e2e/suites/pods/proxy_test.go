package pods_test

import (
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/shim"
)

// hostPort is where pods reach an API server.
func hostPort(t *testing.T, address string) (host, port string) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	if port = u.Port(); port == "" {
		port = "443"
	}
	return u.Hostname(), port
}

// besideHub is the hub's address, where a server of a test can be reached by pods as well.
func (b *bed) besideHub(t *testing.T) string {
	t.Helper()
	host, _ := hostPort(t, b.hub.front.URL)
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("reduced: pods of provider %s do not reach this process, so there is no proxy and no registry for them: %v", chosen.Name(), err)
	}
	require.NoError(t, listener.Close())
	return host
}

// P01: the agent's pod reaches the hub by the proxy that its Cluster names, and its own API server without.
func TestAnAgentReachesTheHubByTheProxyOfItsCluster(t *testing.T) {
	b := theBed(t)
	address := b.besideHub(t)
	c := b.imported()
	before := c.now(t)
	proxy, err := shim.NewProxyOn(address, nil)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	host, port := hostPort(t, b.hub.front.URL)
	hub := net.JoinHostPort(host, port)
	proxy.Route(hub, hub)
	own, _ := hostPort(t, b.edge.front.URL)

	c.change(t, map[string]any{"agentEnvVars": []any{
		map[string]any{"name": "HTTPS_PROXY", "value": proxy.URL()}, map[string]any{"name": "NO_PROXY", "value": own},
	}})
	after := c.rolledOnce(t, before, "by a proxy")
	tunnels := proxy.Tunnels()
	assert.NotZero(t, tunnels[hub], "connections to the hub through the proxy")
	assert.Len(t, tunnels, 1, "and to nowhere else: %v", tunnels)

	c.change(t, map[string]any{"agentEnvVars": nil})
	last := c.rolledOnce(t, after, "without a proxy")
	assert.Equal(t, comparable(before.pod), comparable(last.pod))
}
