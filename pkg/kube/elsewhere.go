package kube

import (
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// Surroundings are what an agent's process has in its environment. A check that runs elsewhere has to be told.
type Surroundings struct {
	// Proxy is the proxy for a request, nil for none.
	Proxy func(*http.Request) (*url.URL, error)
	// ProxyCA is what EnvProxyCA holds.
	ProxyCA string
}

// ElsewhereConfig is how an agent in other surroundings than this process's would reach its hub with a token, in the same
// way as UpstreamConfig. The hub is not trusted yet: answers are read up to MaxAnswer bytes.
func ElsewhereConfig(server string, ca []byte, token, tlsMode string, around Surroundings, timeout time.Duration) (*rest.Config, error) {
	data, err := BuildKubeconfig(server, ca, token, "")
	if err != nil {
		return nil, err
	}
	cfg, err := ParseKubeconfig(data)
	if err != nil {
		return nil, err
	}
	cfg.Proxy, cfg.DisableCompression = around.Proxy, true
	if err := withTrust(cfg, tlsMode, ca, around.ProxyCA); err != nil {
		return nil, err
	}
	withoutRedirects(cfg)
	WithCallTimeout(cfg, timeout)
	withBoundedAnswers(cfg, MaxAnswer)
	return cfg, nil
}
