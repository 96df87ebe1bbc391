package preflight

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
)

// checkKubeconfig looks at a kubeconfig as the hub will.
func checkKubeconfig(ctx context.Context, in Input, o Options) Report {
	l := newLedger(KindKubeconfig)
	l.hide(secretsOf(o.Other)...)
	hub := settingsOfHub(ctx, o)
	w := &way{words: kubeconfigWords, mode: cmp.Or(o.TLSMode, knownMode(hub.mode), defaultTLSMode)}
	w.readKubeconfig(l, in, o)
	namespace := cmp.Or(o.AgentNamespace, o.SystemNamespace)

	c, t := w.visit(ctx, l, o)
	if c != nil {
		defer c.close()
	}
	asked := []string{CheckAuthentication}
	l.after(CheckVersion, []string{CheckAnswer}, func() finding { return decideVersion(t.body) })
	l.after(CheckPermissions, asked, func() finding {
		return decideInstaller(c.installer(ctx, importNeeds(namespace)), w.words.credential, "install the agent")
	})
	l.after(CheckAgent, asked, func() finding {
		found, err := c.residents(ctx, namespace)
		this := thisHub{address: cmp.Or(in.ServerURL, hub.url), uid: hub.uid, gone: goneClusters(ctx, o, hub.uid, found)}
		return decideAgents(found, err, this, joiner{uid: c.systemUID(ctx)})
	})
	l.record(CheckHubAddress, decideHubAddress(in, hub))
	return l.report
}

func knownMode(mode string) string {
	if mode == kube.TLSStrict || mode == kube.TLSSystemStore {
		return mode
	}
	return ""
}

// readKubeconfig records what the kubeconfig itself is worth, by the functions that the hub reads it with.
func (w *way) readKubeconfig(l *ledger, in Input, o Options) {
	parsed, err := kube.ParseKubeconfig(in.Document)
	if err != nil {
		l.record(CheckInput, failure(err.Error(), "Correct the kubeconfig: the hub reads it in the same way."))
		l.after(CheckCA, []string{CheckInput}, nil)
		return
	}
	l.hide(secretsOf(parsed)...)
	w.choice = proxyOfKubeconfig(parsed)
	l.hide(passwordOf(w.choice.url))
	if address, err := url.Parse(parsed.Host); err == nil {
		l.report.Address = addressText(address)
	}
	w.ca, w.serverName = parsed.CAData, parsed.ServerName
	w.token, w.kind = parsed.BearerToken, kindOfCredential(parsed)
	ca, certificate := w.decideCA(o), finding{}
	if w.kind == byCertificate {
		certificate = decideClientCertificate(parsed.CertData, parsed.KeyData, o.Now())
	}
	w.cfg, err = kube.DownstreamConfig(in.Document, w.mode, stepsOfACall*o.StepLimit)
	if err != nil && ca.result != Failed && certificate.result != Failed {
		l.record(CheckInput, failure(err.Error(), "Correct the kubeconfig: the hub uses it in the same way."))
	} else {
		l.record(CheckInput, fine(inputText(in, w)))
	}
	l.record(CheckCA, ca)
	if w.kind == byCertificate {
		l.record(CheckClientCertificate, certificate)
	}
}

func inputText(in Input, w *way) string {
	text := "a kubeconfig that the hub accepts"
	if in.FromSecret {
		text = "a Secret with a kubeconfig that the hub accepts"
	}
	if w.kind == byNothing {
		return text + ", without a credential"
	}
	return fmt.Sprintf("%s, with a %s", text, w.kind)
}

func (w *way) decideCA(o Options) finding {
	if w.mode == kube.TLSStrict && len(w.ca) == 0 {
		return failure("agentTLSMode strict trusts the given CA alone, and none is given",
			"Put the CA of the API server into "+w.words.ca+", or use agentTLSMode system-store.")
	}
	return decideCA(w.ca, w.mode, w.words, o.Now())
}

func kindOfCredential(cfg *rest.Config) credentialKind {
	switch {
	case cfg.ExecProvider != nil || cfg.AuthProvider != nil:
		return byPlugin
	case cfg.BearerToken != "" || cfg.BearerTokenFile != "":
		return byToken
	case len(cfg.CertData) > 0 || len(cfg.KeyData) > 0 || cfg.CertFile != "":
		return byCertificate
	case cfg.Username != "" || cfg.Password != "":
		return byPassword
	}
	return byNothing
}

// proxyOfKubeconfig is the proxy that this process would use. The hub has an environment of its own.
func proxyOfKubeconfig(cfg *rest.Config) proxyChoice {
	choose, reason := cfg.Proxy, "proxy-url of the kubeconfig"
	if choose == nil {
		choose, reason = http.ProxyFromEnvironment, "HTTPS_PROXY of this machine's environment; the hub goes by its own"
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return proxyChoice{}
	}
	chosen, err := choose(&http.Request{URL: target, Header: http.Header{}})
	switch {
	case err != nil:
		return proxyChoice{trouble: "HTTPS_PROXY of this machine's environment is no URL of a proxy", remedy: "Write it as http://proxy.example.com:3128."}
	case chosen == nil:
		return proxyChoice{reason: "the kubeconfig names none, and neither does this machine's environment for this address"}
	}
	return proxyChoice{url: chosen, reason: reason}
}
