package kube

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// checkUsable holds for whatever comes out of a kubeconfig: it runs, reads and skips nothing, and can be dialled.
func checkUsable(t *testing.T, cfg *rest.Config) {
	t.Helper()
	require.Nil(t, cfg.ExecProvider)
	require.Nil(t, cfg.AuthProvider)
	require.False(t, cfg.Insecure)
	require.Empty(t, cfg.CAFile+cfg.CertFile+cfg.KeyFile+cfg.BearerTokenFile)
	host, err := url.Parse(cfg.Host)
	require.NoError(t, err)
	require.Equal(t, "https", host.Scheme)
	require.NotEmpty(t, host.Host)
	require.Less(t, strings.IndexFunc(cfg.BearerToken, func(r rune) bool { return r <= ' ' || r > '~' }), 0, "a token fits a header")
}

// checkRefusal holds for every refusal: it says that it is about the kubeconfig, can be shown, and repeats no value.
func checkRefusal(t *testing.T, err error, values ...string) {
	t.Helper()
	text := err.Error()
	require.True(t, strings.HasPrefix(text, "kubeconfig: "), text)
	require.Less(t, len(text), 500)
	require.True(t, utf8.ValidString(text))
	require.Less(t, strings.IndexFunc(text, unicode.IsControl), 0, "%q", text)
	for _, value := range values {
		// A short one can be a part of any sentence.
		if len(value) >= 20 {
			require.NotContains(t, text, value)
		}
	}
}

// FuzzParseKubeconfig reads documents of any kind.
func FuzzParseKubeconfig(f *testing.F) {
	nothing := func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}
	good := kubeconfigWith(f, nothing)
	f.Add(good)
	f.Add(append(append([]byte{}, good...), good...))
	for _, seed := range []string{
		"", "a: &a [*a]", "\xff\xfe", "{", strings.Repeat("[", 5000),
		"apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: null}]\n",
		"apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c}]\nusers: [{name: u}]\n",
		`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"://"}}]}`,
		`{"apiVersion":"v1","kind":"Config","current-context":"\u0000","contexts":[{"name":"\u0000"}]}`,
		"apiVersion: v2\nkind: Config\n", "kind: List\napiVersion: v1\nitems: [{kind: Config}]\n",
		"apiVersion: v1\nkind: Config\nusers: [{name: u, user: {exec: {command: /bin/true}}}, {name: u, user: {token: a}}]\n",
		"a: &x [1,1,1,1]\nb: &y [*x,*x,*x,*x]\nc: &z [*y,*y,*y,*y]\nd: [*z,*z,*z,*z]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := ParseKubeconfig(data)
		if err != nil {
			require.Nil(t, cfg)
			checkRefusal(t, err, marker)
			return
		}
		checkUsable(t, cfg)
	})
}

// FuzzKubeconfigFields puts anything into the fields of one that is well-formed: few random documents get that far.
func FuzzKubeconfigFields(f *testing.F) {
	f.Add("https://api.example.org:6443/prefix", []byte("ca"), marker, []byte(nil), "", "", "")
	f.Add("http://api.example.org", []byte("-----BEGIN CERTIFICATE-----\n"), "a\r\nX-Injected: 1", []byte("-----BEGIN"), "ftp://proxy", "..", "/etc/passwd")
	f.Add("https://user:"+marker+"@api.example.org?a=b#c", []byte{0xff}, strings.Repeat("t", 1<<16), []byte{0}, "http://u:"+marker+"@proxy:1", "\xff", marker)
	f.Add(strings.Repeat("s", 5000)+"://"+marker, []byte{}, "\x00", []byte{}, "http://%zz", "", "")
	f.Add("https://[::1", []byte{}, "ä", []byte{}, "socks5://", "\n", "\n")
	f.Add("", []byte{}, "", []byte{}, "", "", "")
	f.Fuzz(func(t *testing.T, server string, ca []byte, token string, certificate []byte, proxy, serverName, file string) {
		data, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Config", "current-context": "x",
			"contexts": []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "c", "user": "u", "namespace": serverName}}},
			"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{
				"server": server, "certificate-authority-data": ca, "proxy-url": proxy, "tls-server-name": serverName,
			}}},
			"users": []any{map[string]any{"name": "u", "user": map[string]any{
				"token": token, "client-certificate-data": certificate, "client-key-data": certificate, "tokenFile": file,
				"username": serverName, "password": serverName, "as": serverName,
			}}},
		})
		require.NoError(t, err)
		cfg, err := ParseKubeconfig(data)
		if err != nil {
			checkRefusal(t, err, server, token, proxy, file)
		} else {
			checkUsable(t, cfg)
			require.Empty(t, file)
		}
		for _, mode := range []string{TLSStrict, TLSSystemStore} {
			cfg, err := DownstreamConfig(data, mode, time.Second)
			if err != nil {
				checkRefusal(t, err, token, file)
				continue
			}
			require.NotNil(t, cfg.Transport, "each has its own trust")
		}
	})
}

// FuzzBuildKubeconfig: what the agent builds of the hub's answer, it reads again, or refuses with a reason.
func FuzzBuildKubeconfig(f *testing.F) {
	f.Add("https://hub.example.com", []byte("ca"), marker, "cluster-ns")
	f.Add("hub", []byte{}, "123", "null")
	f.Add("https://hub\n", []byte{0xff}, "a: b", "\x00")
	f.Add("", []byte{}, "", "")
	f.Fuzz(func(t *testing.T, server string, ca []byte, token, namespace string) {
		data, err := BuildKubeconfig(server, ca, token, namespace)
		if err != nil {
			checkRefusal(t, err, token)
			return
		}
		again, err := BuildKubeconfig(server, ca, token, namespace)
		require.NoError(t, err)
		require.Equal(t, data, again, "the same gives the same bytes, or the credential would be stored anew")
		cfg, err := ParseKubeconfig(data)
		if err != nil {
			checkRefusal(t, err, token)
			return
		}
		checkUsable(t, cfg)
		require.Equal(t, token, cfg.BearerToken)
		require.Equal(t, string(ca), string(cfg.CAData))
	})
}
