package preflight

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/kube"
)

// P01, P04: a proxy is told from what is behind it, with each thing that can be wrong with it.
func TestAProxyOfAKubeconfig(t *testing.T) {
	ca, proxyCA := newAuthority(t, "hub-ca", young), newAuthority(t, "proxy-ca", young)
	server := newAPI(t, ca.pair(t, young, name))
	target := server.Listener.Addr().String()
	pair := proxyCA.pair(t, young, "127.0.0.1")
	refusing := func(code int) func(*proxy) { return func(p *proxy) { p.refuse = code } }
	credentials := func(u string) string { return strings.Replace(u, "://", "://jane:"+secretText+"@", 1) }
	for title, test := range map[string]struct {
		proxy, bundle string
		want          Result
		says          string
	}{
		"plain":                       {credentials(newProxy(t, target, nil).URL), "", OK, "proxy-url of the kubeconfig"},
		"TLS, its CA given":           {newProxy(t, target, &pair).URL, string(proxyCA.pem), OK, "https://"},
		"TLS, its CA not given":       {newProxy(t, target, &pair).URL, "", Failed, fingerprint(parsed(t, encode("CERTIFICATE", pair.Certificate[0])))},
		"TLS asked of a plain one":    {strings.Replace(newProxy(t, target, nil).URL, "http:", "https:", 1), "", Failed, "does not speak TLS"},
		"one that wants a password":   {newProxy(t, target, nil, refusing(http.StatusProxyAuthRequired)).URL, "", Failed, "407"},
		"one that refuses":            {credentials(newProxy(t, target, nil, refusing(http.StatusForbidden)).URL), "", Failed, "refuses the connection (403"},
		"one that cannot get through": {newProxy(t, "127.0.0.1:1", nil).URL, "", Failed, "502"},
		"one that is silent":          {"http://" + blackHole(t), "", Failed, "then said nothing"},
		"one that is not there":       {"http://127.0.0.1:1", "", Failed, "no connection"},
		"one with an unknown name":    {"http://proxy.invalid:3128", "", Failed, "cannot be resolved"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Setenv(kube.EnvProxyCA, test.bundle)
			limit := stepLimit
			if strings.Contains(title, "silent") {
				limit = 300 * time.Millisecond
			}
			document := kubeconfig(t, "https://"+name+":6443", ca.pem, func(c *cluster, _ *user) { c.ProxyURL = test.proxy })

			report := look(t, document, Options{TLSMode: kube.TLSStrict, StepLimit: limit})

			c := check(t, report, CheckProxy)
			require.Equal(t, test.want, c.Result, "%+v", report)
			assert.Contains(t, c.Found, test.says)
			if test.want == OK {
				assert.Empty(t, results(report))
				assert.Contains(t, check(t, report, CheckDNS).Found, "the proxy looks the name up")
				return
			}
			assert.Contains(t, check(t, report, CheckTLS).Found, "because check proxy failed")
		})
	}
}

func TestAServerBehindAProxyIsJudgedLikeAnyOther(t *testing.T) {
	ca, wrong := newAuthority(t, "right", young), newAuthority(t, "wrong", young)
	server := newAPI(t, ca.pair(t, young, name))
	way := newProxy(t, server.Listener.Addr().String(), nil)

	report := look(t, kubeconfig(t, "https://"+name, wrong.pem, func(c *cluster, _ *user) { c.ProxyURL = way.URL }), Options{})

	assert.Equal(t, map[string]Result{CheckTLS: Failed}, results(report))
	assert.Contains(t, check(t, report, CheckTLS).Found, `issuer "CN=right"`)
	assert.NotZero(t, way.tunnels.Load())
}

// The agent goes by the proxy of its values, whatever this machine's environment says.
func TestTheProxyOfTheValuesIsThatOfTheAgent(t *testing.T) {
	ca, proxyCA := newAuthority(t, "hub-ca", young), newAuthority(t, "proxy-ca", young)
	server := newAPI(t, ca.pair(t, young, name, "127.0.0.1"), isHub)
	target := server.Listener.Addr().String()
	pair := proxyCA.pair(t, young, "127.0.0.1")
	plain, secure := newProxy(t, target, nil), newProxy(t, target, &pair)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	env := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
	for title, test := range map[string]struct {
		address string
		more    map[string]any
		through *proxy
		want    Result
		says    string
	}{
		"none":                        {server.URL, nil, nil, OK, "the values name none"},
		"proxy":                       {"https://" + name, map[string]any{"proxy": plain.URL}, plain, OK, "value proxy"},
		"an https one with its CA":    {"https://" + name, map[string]any{"proxy": secure.URL, "proxyCACert": string(proxyCA.pem)}, secure, OK, "value proxy"},
		"an https one without its CA": {"https://" + name, map[string]any{"proxy": secure.URL}, nil, Failed, "its own certificate is not trusted"},
		"extraEnv":                    {"https://" + name, map[string]any{"proxy": "http://127.0.0.1:1", "extraEnv": []any{env("HTTPS_PROXY", plain.URL)}}, plain, OK, "extraEnv HTTPS_PROXY"},
		"extraEnv with the CA":        {"https://" + name, map[string]any{"proxy": secure.URL, "extraEnv": []any{env(kube.EnvProxyCA, string(proxyCA.pem))}}, secure, OK, "value proxy"},
		"without a scheme":            {"https://" + name, map[string]any{"proxy": strings.TrimPrefix(plain.URL, "http://")}, plain, OK, "value proxy"},
		"noProxy":                     {server.URL, map[string]any{"proxy": "http://127.0.0.1:1"}, nil, OK, "keeps the hub's address from it"},
		"what is none":                {"https://" + name, map[string]any{"proxy": "ftp://" + secretText + ":" + secretText + "@h"}, nil, Failed, "no URL of a proxy"},
		"from a Secret": {server.URL, map[string]any{"extraEnv": []any{map[string]any{
			"name": "HTTPS_PROXY", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s", "key": "k"}},
		}}}, nil, Warning, "lies in another object"},
	} {
		t.Run(title, func(t *testing.T) {
			before := int32(0)
			if test.through != nil {
				before = test.through.tunnels.Load()
			}
			report := look(t, values(t, test.address, ca.pem, importToken(young), test.more), Options{})

			c := check(t, report, CheckProxy)
			require.Equal(t, test.want, c.Result, "%+v", report)
			assert.Contains(t, c.Found, test.says)
			if test.want == OK {
				assert.Empty(t, results(report))
			}
			if test.through != nil {
				assert.Greater(t, test.through.tunnels.Load(), before)
			}
		})
	}
}

func TestNoProxyIsReadAsTheAgentReadsIt(t *testing.T) {
	none := ""
	for title, test := range map[string]struct {
		values agentValues
		hub    string
		used   bool
	}{
		"the chart's default keeps private addresses off": {agentValues{Proxy: "http://p:1"}, "https://10.1.2.3:6443", false},
		"and names of the cluster":                        {agentValues{Proxy: "http://p:1"}, "https://hub.ns.svc", false},
		"other names pass":                                {agentValues{Proxy: "http://p:1"}, "https://hub.example.com", true},
		"an empty noProxy keeps nothing off":              {agentValues{Proxy: "http://p:1", NoProxy: &none}, "https://10.1.2.3:6443", true},
		"extraEnv replaces it":                            {agentValues{Proxy: "http://p:1", ExtraEnv: []envVar{{Name: "NO_PROXY", Value: "hub.example.com"}}}, "https://hub.example.com", false},
	} {
		t.Run(title, func(t *testing.T) {
			hub, err := url.Parse(test.hub)
			require.NoError(t, err)
			around, choice := test.values.surroundings(hub)
			assert.Equal(t, test.used, choice.url != nil, "%+v", choice)
			used, err := around.Proxy(&http.Request{URL: hub})
			require.NoError(t, err)
			assert.Equal(t, choice.url, used)
		})
	}
}

// What the check takes for the chart's defaults is what the chart has.
func TestDefaultsAreThoseOfTheCharts(t *testing.T) {
	var agent, hub map[string]any
	for path, into := range map[string]*map[string]any{"fleet-agent": &agent, "fleet": &hub} {
		text, err := os.ReadFile("../../charts/" + path + "/values.yaml")
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	assert.Equal(t, agent["noProxy"], defaultNoProxy)
	assert.Equal(t, agent["agentTLSMode"], defaultTLSMode)
	assert.Equal(t, hub["agentTLSMode"], defaultTLSMode)
	for _, key := range []string{"proxy", "proxyCACert", "extraEnv", "existingSecret"} {
		assert.Contains(t, agent, key)
	}
	chart, err := os.ReadFile("../../charts/fleet/Chart.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(chart), fmt.Sprintf(`kube-version: ">= 1.%d.0-0"`, oldestMinor))
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), fmt.Sprintf("the tests run on 1.%d and 1.%d", testedFrom, testedTo))
}
