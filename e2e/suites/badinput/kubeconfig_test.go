package badinput_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/lab"
)

type (
	config  = clientcmdapi.Config
	cluster = clientcmdapi.Cluster
	user    = clientcmdapi.AuthInfo
)

// Missing, half-written, malformed and foreign kubeconfig secrets, and those that lead to what is no cluster of theirs.
func TestAKubeconfigThatCannotBeUsedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	strangers := newStrange(t, b)
	rows := append(secretRows(), shapeRows()...)
	rows = append(rows, refusedRows(t)...)
	final := len(rows)
	rows = append(rows, b.wrongWayRows(t, strangers)...)
	tb := b.table(t, "bad-kubeconfigs", rows)
	tb.give(t)
	tb.sayWhatIsWrong(t)
	tb.rest(t, 2*(len(rows)-final)) // each gets no further than its first call
	tb.heal(t)
}

// secretRows are secrets that are not there, or not as they should be.
func secretRows() []row {
	return []row{
		{name: "no-secret", spoil: func(in *input) { in.secret = nil }, reason: "KubeconfigMissing", says: []string{"bad-kubeconfigs/no-secret", "spec.kubeConfigSecret", "does not exist"}, joins: true},
		{name: "no-data", spoil: func(in *input) { in.secret = map[string][]byte{} }, reason: "KubeconfigIncomplete", says: []string{"bad-kubeconfigs/no-data", `"value"`}},
		{name: "empty-value", spoil: value(""), reason: "KubeconfigIncomplete", says: []string{"bad-kubeconfigs/empty-value", `"value"`}},
		{name: "half-written", spoil: func(in *input) {
			delete(in.secret, "value")
			in.secret["apiServerURL"] = []byte("https://hub.example.com")
		}, reason: "KubeconfigIncomplete", says: []string{"bad-kubeconfigs/half-written", `"value"`}, joins: true},
		{name: "other-key", spoil: func(in *input) { in.secret = map[string][]byte{"kubeconfig": in.secret["value"]} }, reason: "KubeconfigIncomplete", says: []string{`"value"`}},
		{name: "foreign-namespace", spoil: func(in *input) { in.spec.KubeConfigSecretNamespace = "kube-system" }, reason: "SecretNamespaceNotAllowed", says: []string{`kubeConfigSecretNamespace "kube-system"`, "bad-kubeconfigs"}, joins: true},
		{name: "other-workspace", spoil: func(in *input) { in.spec.KubeConfigSecretNamespace = "ws-of-others" }, reason: "SecretNamespaceNotAllowed", says: []string{"ws-of-others"}},
		{name: strings.Repeat("n", 253), spoil: func(in *input) { in.secret = nil }, reason: "KubeconfigMissing", says: []string{strings.Repeat("n", 253)}, joins: true},
		{name: "no-url", spoil: key("apiServerURL", "hub.example.com"), reason: "InvalidServerURL", says: []string{"https://hub.example.com"}},
		{name: "plain-url", spoil: key("apiServerURL", "http://hub.example.com"), reason: "InvalidServerURL", says: []string{"https"}},
		{name: "url-with-a-password", spoil: key("apiServerURL", "https://jane:"+marker+"@hub.example.com"), reason: "InvalidServerURL", says: []string{"without user"}},
		{name: "hub-ca-that-is-none", spoil: key("apiServerCA", marker), reason: "InvalidServerCA", says: []string{`key "apiServerCA" of secret bad-kubeconfigs/hub-ca-that-is-none`, "PEM"}, joins: true},
		{name: "hub-ca-in-bytes", spoil: key("apiServerCA", "0\x82\x00\xff"), reason: "InvalidServerCA", says: []string{`key "apiServerCA" of secret bad-kubeconfigs/hub-ca-in-bytes`, "DER"}},
		{name: "hub-ca-that-is-blank", spoil: key("apiServerCA", "\n"), reason: "InvalidServerCA", says: []string{`key "apiServerCA" of secret bad-kubeconfigs/hub-ca-that-is-blank`}},
		{name: "binary-url", spoil: key("apiServerURL", "\x00\xff\xfe"), reason: "InvalidServerURL", says: []string{"URL"}},
	}
}

// invalid is a row of a kubeconfig that the hub does not even try.
func invalid(name string, spoil func(*input), says ...string) row {
	return row{name: name, spoil: spoil, reason: "InvalidKubeconfig", says: append(says, "secret bad-kubeconfigs/"+name, `"value"`)}
}

// shapeRows are documents that are no kubeconfig, or none with a current context.
func shapeRows() []row {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'i'; i++ {
		laughs += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+",", 8) + "*" + string(i-1) + "]\n"
	}
	return []row{
		invalid("not-yaml", value("\t{"+marker), "cannot be read"),
		invalid("a-string", value(marker), "cannot be read"),
		invalid("a-list", value("- a\n- "+marker), "cannot be read"),
		invalid("binary", value("\x00\x01\xff"+marker), "cannot be read"),
		invalid("other-kind", value("apiVersion: v1\nkind: Secret\nstringData: {a: "+marker+"}\n"), "kind Config"),
		invalid("wrong-types", value("apiVersion: v1\nkind: Config\nclusters: "+marker+"\n"), "cannot be read"),
		invalid("aliases", value(laughs+"apiVersion: v1\nkind: Config\n"), ""),
		invalid("huge", value(strings.Repeat("# "+marker+"\n", 40_000)+"{"), "cannot be read"),
		invalid("cut-off", func(in *input) { in.secret["value"] = in.secret["value"][:len(in.secret["value"])/2] }, ""),
		invalid("only-a-header", value("apiVersion: v1\nkind: Config\n"), "current-context"),
		invalid("no-current-context", kubeconfig(func(c *config, _ *cluster, _ *user) { c.CurrentContext = "" }), "current-context"),
		invalid("other-context", kubeconfig(func(c *config, _ *cluster, _ *user) { c.CurrentContext = marker }), "current-context", "contexts"),
		invalid("no-cluster", kubeconfig(func(c *config, _ *cluster, _ *user) { delete(c.Clusters, "edge") }), "clusters"),
		invalid("no-user", kubeconfig(func(c *config, _ *cluster, _ *user) { delete(c.AuthInfos, "edge") }), "users"),
		invalid("no-server", kubeconfig(func(_ *config, c *cluster, _ *user) { c.Server = "" }), "cluster.server"),
		invalid("server-without-host", kubeconfig(func(_ *config, c *cluster, _ *user) { c.Server = "https://" }), "cluster.server"),
		invalid("plain-server", kubeconfig(func(_ *config, c *cluster, _ *user) { c.Server = "http://127.0.0.1:8080" }), "cluster.server", "https"),
		invalid("ftp-server", kubeconfig(func(_ *config, c *cluster, _ *user) { c.Server = "ftp://127.0.0.1" }), "cluster.server", "https"),
	}
}

// refusedRows are kubeconfigs that would have the hub do what it must not, or that hold no credential.
func refusedRows(t *testing.T) []row {
	t.Helper()
	authority, err := certs.NewAuthority("somebody")
	require.NoError(t, err)
	one, err := authority.Client("one", time.Hour)
	require.NoError(t, err)
	two, err := authority.Client("two", time.Hour)
	require.NoError(t, err)
	withUser := func(name string, change func(*user), says ...string) row {
		return invalid(name, kubeconfig(func(_ *config, _ *cluster, u *user) { u.Token = ""; change(u) }), says...)
	}
	withCluster := func(name string, change func(*cluster), says ...string) row {
		return invalid(name, kubeconfig(func(_ *config, c *cluster, _ *user) { change(c) }), says...)
	}
	rows := []row{
		withUser("exec", func(u *user) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "/bin/sh", Args: []string{marker}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}, "user.exec", "token"),
		withUser("auth-provider", func(u *user) { u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"} }, "user.auth-provider"),
		withUser("token-file", func(u *user) { u.TokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" }, "user.tokenFile"),
		withUser("certificate-file", func(u *user) { u.ClientCertificate, u.ClientKey = "/etc/a.crt", "/etc/a.key" }, "user.client-certificate"),
		withUser("key-file", func(u *user) { u.ClientCertificateData, u.ClientKey = one.Cert, "/etc/a.key" }, "user.client-key"),
		withUser("certificate-without-key", func(u *user) { u.ClientCertificateData = one.Cert }, "client"),
		withUser("certificate-of-another-key", func(u *user) { u.ClientCertificateData, u.ClientKeyData = one.Cert, two.Key }, "client certificate"),
		withUser("certificate-that-is-none", func(u *user) { u.ClientCertificateData, u.ClientKeyData = []byte(marker), []byte(marker) }, "client certificate"),
		withUser("token-with-line-break", func(u *user) { u.Token = marker + "\n" }, "user.token", "line break"),
		withCluster("ca-file", func(c *cluster) { c.CertificateAuthorityData, c.CertificateAuthority = nil, "/etc/ca.crt" }, "cluster.certificate-authority", "certificate-authority-data"),
		withCluster("insecure", func(c *cluster) { c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true }, "insecure-skip-tls-verify"),
		withCluster("no-ca", func(c *cluster) { c.CertificateAuthorityData = nil }, "certificate-authority-data", "system-store"),
		withCluster("ca-that-is-none", func(c *cluster) { c.CertificateAuthorityData = []byte(marker) }, "PEM"),
		withCluster("ca-cut-off", func(c *cluster) { c.CertificateAuthorityData = c.CertificateAuthorityData[:100] }, "PEM"),
		withCluster("proxy-that-is-none", func(c *cluster) { c.ProxyURL = "ftp://jane:" + marker + "@proxy" }, "cluster.proxy-url"),
	}
	rows[0].joins = true
	return rows
}

// wrongWayRows are kubeconfigs that can be used, and lead nowhere, or to somebody who does not let the hub in.
func (b *bed) wrongWayRows(t *testing.T, s *strange) []row {
	t.Helper()
	require.NoError(t, b.EnsureNamespace(t.Context(), "bad-kubeconfigs"))
	poor := b.poorToken(t)
	to := func(url string) func(*input) {
		return kubeconfig(func(_ *config, c *cluster, u *user) {
			c.Server, c.CertificateAuthorityData, u.Token = url, s.authority.Cert, marker
		})
	}
	as := func(change func(*user)) func(*input) {
		return kubeconfig(func(_ *config, _ *cluster, u *user) { change(u) })
	}
	rows := []row{
		{name: "refusing", spoil: to(s.refusing), reason: "Unreachable", says: []string{"connection refused"}, joins: true},
		{name: "silent", spoil: to(s.silent), reason: "Unreachable", says: []string{"cannot be reached"}},
		{name: "unknown-host", spoil: to("https://edge.invalid:6443"), reason: "Unreachable", says: []string{"edge.invalid"}},
		{name: "speaks-no-tls", spoil: to(s.plain), reason: "Unreachable", says: []string{"HTTPS"}},
		{name: "a-web-page", spoil: to(s.html), reason: "ImportFailed"},
		{name: "always-fails", spoil: to(s.failing), reason: "ImportFailed"},
		{name: "redirects", spoil: to(s.moved), reason: "Unreachable", says: []string{"redirects", "name the address"}},
		{name: "lies", spoil: to(s.liar), reason: "ImportFailed", says: []string{"kube-system", "UID"}},
		{name: "never-ends", spoil: to(s.endless), reason: "ImportFailed", says: []string{"larger than"}},
		{name: "other-ca", spoil: kubeconfig(func(_ *config, c *cluster, _ *user) { c.CertificateAuthorityData = s.authority.Cert }), reason: "UntrustedCertificate", says: []string{"bad-kubeconfigs/other-ca", "CA"}},
		{name: "other-name", spoil: kubeconfig(func(_ *config, c *cluster, _ *user) { c.TLSServerName = "other.example.com" }), reason: "CertificateMismatch", says: []string{"bad-kubeconfigs/other-name", "other.example.com", "tls-server-name"}},
		{name: "wrong-token", spoil: as(func(u *user) { u.Token = marker }), reason: "KubeconfigRefused", says: []string{"bad-kubeconfigs/wrong-token"}, joins: true},
		{name: "password", spoil: as(func(u *user) { u.Token, u.Username, u.Password = "", "admin", marker }), reason: "Forbidden", says: []string{"bad-kubeconfigs/password", "system:anonymous"}}, // no server takes a password any more
		{name: "nobody", spoil: as(func(u *user) { u.Token = "" }), reason: "Forbidden", says: []string{"bad-kubeconfigs/nobody", "system:anonymous"}},
		{name: "poor-account", spoil: as(func(u *user) { u.Token = poor }), reason: "Forbidden", says: []string{"bad-kubeconfigs/poor-account", "cannot"}},
		{name: "acts-as-nobody", spoil: as(func(u *user) { u.Impersonate = "nobody" }), reason: "Forbidden", says: []string{"bad-kubeconfigs/acts-as-nobody", "nobody"}},
	}
	for i, r := range rows {
		if r.reason == "Unreachable" || r.reason == "ImportFailed" {
			rows[i].says = append(r.says, "bad-kubeconfigs/"+r.name, "tries again by itself")
		}
	}
	return rows
}

// poorToken is of an account of the downstream cluster that may do nothing.
func (b *bed) poorToken(t *testing.T) string {
	t.Helper()
	kubeconfig, err := lab.ServiceAccountKubeconfig(t.Context(), b.edge.Config, "default", "default", time.Hour, b.edge.URL, b.edge.CA())
	require.NoError(t, err)
	return kubeconfig.Token
}
