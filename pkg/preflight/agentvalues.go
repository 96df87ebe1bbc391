package preflight

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/kube"
)

// defaultNoProxy is what the chart fleet-agent lets bypass its proxy.
const defaultNoProxy = "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.svc,.cluster.local"

// agentValues are the values of the chart fleet-agent that say how the agent reaches its hub, beside those of the token.
type agentValues struct {
	AgentTLSMode   string   `json:"agentTLSMode"`
	Proxy          string   `json:"proxy"`
	NoProxy        *string  `json:"noProxy"`
	ProxyCACert    string   `json:"proxyCACert"`
	ExtraEnv       []envVar `json:"extraEnv"`
	ExistingSecret string   `json:"existingSecret"`
	// Agent has rules where the agent is not to do everything on its cluster.
	Agent struct {
		Rules []agentRule `json:"rules"`
	} `json:"agent"`
}

type envVar struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	ValueFrom any    `json:"valueFrom"`
}

// parseAgentValues reads what the values have beside those of the token. Whoever holds the token may have added to them.
func parseAgentValues(document []byte) (agentValues, error) {
	var v agentValues
	if yaml.Unmarshal(document, &v) != nil {
		// The parser's own words may repeat a piece of a value.
		return agentValues{}, errors.New("a value has another type than the chart fleet-agent knows: agentTLSMode, proxy, noProxy and proxyCACert are texts, extraEnv is a list of variables, agent.rules one of rules")
	}
	return v, nil
}

// environment is what the chart puts into the agent's pod, as far as it has to do with proxies. Elsewhere lists the
// variables whose values lie in another object.
func (v agentValues) environment() (env map[string]string, elsewhere []string) {
	env = map[string]string{}
	if v.Proxy != "" {
		env["HTTP_PROXY"], env["HTTPS_PROXY"], env["NO_PROXY"] = v.Proxy, v.Proxy, defaultNoProxy
		if v.NoProxy != nil {
			env["NO_PROXY"] = *v.NoProxy
		}
	}
	if v.ProxyCACert != "" {
		env[kube.EnvProxyCA] = v.ProxyCACert
	}
	for _, variable := range v.ExtraEnv {
		switch variable.Name {
		case "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", kube.EnvProxyCA:
			env[variable.Name] = variable.Value
			if variable.ValueFrom != nil {
				elsewhere = append(elsewhere, variable.Name)
			}
		}
	}
	return env, elsewhere
}

// secrets are what may be secret in the values: a proxy's URL may hold a password.
func (v agentValues) secrets() (secrets []string) {
	env, _ := v.environment()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if u, err := parseProxy(env[name]); err == nil {
			secrets = append(secrets, passwordOf(u))
		}
	}
	return secrets
}

// surroundings are those of the agent's process, and which proxy is on its way to the hub.
func (v agentValues) surroundings(hub *url.URL) (kube.Surroundings, proxyChoice) {
	env, elsewhere := v.environment()
	around := kube.Surroundings{
		Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil },
		ProxyCA: env[kube.EnvProxyCA],
	}
	name := "HTTPS_PROXY"
	if env[name] == "" && env["https_proxy"] != "" {
		name = "https_proxy"
	}
	from := "extraEnv " + name
	if v.Proxy != "" && env[name] == v.Proxy {
		from = "value proxy"
	}
	choice := proxyChoice{reason: "the values name none, and the environment of this machine is not the agent's"}
	if len(elsewhere) > 0 {
		choice.uncertain = "the value of " + strings.Join(elsewhere, ", ") + " lies in another object on the cluster, and is not known here"
		choice.remedy = "Give a values file with the proxy written out to this command, to have the way of the agent looked at."
	}
	if env[name] == "" {
		return around, choice
	}
	if _, err := parseProxy(env[name]); err != nil {
		choice.trouble, choice.remedy = fmt.Sprintf("%s is no URL of a proxy", from), "Write it as http://proxy.example.com:3128."
		return around, choice
	}
	noProxy := env["NO_PROXY"]
	if noProxy == "" {
		noProxy = env["no_proxy"]
	}
	choose := (&httpproxy.Config{HTTPSProxy: env[name], NoProxy: noProxy}).ProxyFunc()
	around.Proxy = func(req *http.Request) (*url.URL, error) { return choose(req.URL) }
	chosen, err := choose(hub)
	switch {
	case err != nil:
		choice.trouble, choice.remedy = "the proxy of the values cannot be used", "Correct the values proxy and noProxy."
	case chosen == nil:
		choice.reason = from + " is set, and noProxy, or a loopback address, keeps the hub's address from it"
	default:
		choice.url, choice.reason = chosen, from
	}
	return around, choice
}

// parseProxy reads a proxy as Go's own clients do, and refuses what they take and cannot use.
func parseProxy(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return nil, errors.New("no URL of a proxy")
	}
	return u, nil
}
