package preflight

import (
	"context"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// way is how an API server is reached, and what is expected of it.
type way struct {
	words  wording
	cfg    *rest.Config
	choice proxyChoice
	ca     []byte
	mode   string
	// serverName is whom the certificate has to be for, where that is not the host.
	serverName string
	token      string
	kind       credentialKind
}

// visit records the checks from the proxy to the authentication. The caller is nil where nothing could be asked; close it.
func (w *way) visit(ctx context.Context, l *ledger, o Options) (*caller, trip) {
	ready := []string{CheckInput, CheckCA, CheckClientCertificate}
	var c *caller
	var t trip
	var pool *http.Transport
	if l.passed(ready...) {
		c, pool, t = w.travel(ctx, o)
	}
	host, address := "", ""
	if c != nil {
		host, address = c.base.Hostname(), hostPort(c.base)
	}
	proxied := w.choice.url != nil
	l.after(CheckProxy, ready, func() finding { return decideProxy(w.choice, t, w.words) })
	l.after(CheckDNS, []string{CheckProxy}, func() finding { return decideResolve(host, proxied, t, w.words) })
	l.after(CheckConnect, []string{CheckDNS}, func() finding { return decideConnect(address, proxied, t, w.words) })
	l.after(CheckTLS, []string{CheckConnect}, func() finding { return w.decideTLS(t, pool, host, o) })
	l.after(CheckAnswer, []string{CheckTLS}, func() finding { return decideAnswer(t, w.words) })
	clock := clocksOf(t, o.Now())
	l.after(CheckClock, []string{CheckAnswer}, func() finding { return decideClock(clock) })
	if w.token != "" {
		l.after(CheckToken, []string{CheckInput}, func() finding { return decideToken(w.token, clock, w.words) })
	}
	l.after(CheckAuthentication, []string{CheckAnswer}, func() finding {
		user, err := c.whoAmI(ctx)
		return decideIdentity(user, err, w.kind, w.words)
	})
	return c, t
}

// travel asks for the server's version, by which all of the way is seen.
func (w *way) travel(ctx context.Context, o Options) (*caller, *http.Transport, trip) {
	w.cfg.UserAgent = o.UserAgent
	c, err := newCaller(w.cfg, o.StepLimit)
	if err != nil {
		return nil, nil, trip{at: stepResolve, err: err}
	}
	pool, _ := w.cfg.Transport.(*http.Transport)
	v := &traveller{client: c.http, pool: pool, limit: o.StepLimit, now: o.Now, proxied: w.choice.url != nil}
	return c, pool, v.get(ctx, c.base.JoinPath("version"))
}

func (w *way) decideTLS(t trip, pool *http.Transport, host string, o Options) finding {
	err := t.tlsErr
	if t.failedAt(stepTLS) && (err == nil || isTimeout(t.err)) {
		err = t.err
	}
	s := served{certs: servedBy(t.tls, err), trust: trustText(w.ca, w.mode), name: host}
	if w.serverName != "" {
		s.name = w.serverName
	}
	if pool != nil && pool.TLSClientConfig != nil {
		s.roots = pool.TLSClientConfig.RootCAs
	}
	return decideTLS(s, err, w.words, o.Now())
}

// secretsOf are the parts of a config that nobody is to see.
func secretsOf(cfg *rest.Config) []string {
	if cfg == nil {
		return nil
	}
	secrets := []string{cfg.BearerToken, cfg.Password, string(cfg.KeyData)}
	if u, err := url.Parse(cfg.Host); err == nil {
		secrets = append(secrets, passwordOf(u))
	}
	return secrets
}

func passwordOf(u *url.URL) string {
	if u == nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}
