package kube

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const marker = "VERY-SECRET-VALUE"

// kubeconfigWith is a good kubeconfig, changed.
func kubeconfigWith(t testing.TB, change func(cfg *clientcmdapi.Config, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://api.example.org:6443/prefix", CertificateAuthorityData: []byte("ca")}
	cfg.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: marker}
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "n"}
	cfg.CurrentContext = "x"
	change(cfg, cfg.Clusters["c"], cfg.AuthInfos["u"])
	data, err := clientcmd.Write(*cfg)
	require.NoError(t, err)
	return data
}

func TestKubeconfigIsRefusedByField(t *testing.T) {
	type change = func(cfg *clientcmdapi.Config, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo)
	for name, test := range map[string]struct {
		change change
		says   []string
	}{
		"exec": {func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: marker, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}, []string{"user.exec", "token"}},
		"auth provider": {func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc", Config: map[string]string{"client-secret": marker}}
		}, []string{"user.auth-provider", "token"}},
		"CA file": {func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthority = "/etc/" + marker
		}, []string{"cluster.certificate-authority", "certificate-authority-data"}},
		"client certificate file": {func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientCertificate = "/etc/" + marker
		}, []string{"user.client-certificate", "client-certificate-data"}},
		"client key file": {func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.ClientKey = "/etc/" + marker
		}, []string{"user.client-key", "client-key-data"}},
		"token file": {func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.TokenFile = "/var/run/" + marker
		}, []string{"user.tokenFile", "token"}},
		"no check of the certificate": {func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.InsecureSkipTLSVerify = true
		}, []string{"insecure-skip-tls-verify", "certificate-authority-data"}},
		"plain HTTP": {func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "http://api.example.org"
		}, []string{"cluster.server", "https"}},
		"no server": {func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = ""
		}, []string{"cluster.server"}},
		"no current context": {func(cfg *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			cfg.CurrentContext = ""
		}, []string{"current-context"}},
		"a current context that is not there": {func(cfg *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			cfg.CurrentContext = marker
		}, []string{"current-context", "contexts"}},
		"a cluster that is not there": {func(cfg *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			delete(cfg.Clusters, "c")
		}, []string{"cluster", "clusters"}},
		"a user that is not there": {func(cfg *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			delete(cfg.AuthInfos, "u")
		}, []string{"user", "users"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKubeconfig(kubeconfigWith(t, test.change))
			require.Error(t, err)
			for _, part := range test.says {
				assert.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), marker, "an error never repeats a value")
		})
	}
}

func TestKubeconfigThatIsNoneIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ data, says string }{
		"empty":        {"", "empty"},
		"too large":    {strings.Repeat("#", MaxKubeconfig+1), "at most"},
		"not YAML":     {"\t{" + marker, "cannot be read"},
		"a string":     {marker, "cannot be read"},
		"another kind": {"apiVersion: v1\nkind: Secret\n", "cannot be read"},
		"bad base64":   {"apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {certificate-authority-data: " + marker + "}}]\n", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKubeconfig([]byte(test.data))
			require.ErrorContains(t, err, test.says)
			assert.NotContains(t, err.Error(), marker)
		})
	}
}

func TestKubeconfigOfOthersInTheFileDoesNotMatter(t *testing.T) {
	cfg, err := ParseKubeconfig(kubeconfigWith(t, func(cfg *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cfg.AuthInfos["elsewhere"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "x", APIVersion: "client.authentication.k8s.io/v1"}}
		cfg.Contexts["elsewhere"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "elsewhere"}
	}))
	require.NoError(t, err)
	assert.Equal(t, "https://api.example.org:6443/prefix", cfg.Host)
	assert.Equal(t, marker, cfg.BearerToken)
	assert.Equal(t, "ca", string(cfg.CAData))
	assert.Negative(t, cfg.QPS, "no client-side rate limit")
}

func TestKubeconfigServerWithoutASchemeIsHTTPS(t *testing.T) {
	cfg, err := ParseKubeconfig(kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.Server, c.CertificateAuthorityData = "10.0.0.1:6443", nil
	}))
	require.NoError(t, err)
	assert.Equal(t, "https://10.0.0.1:6443", cfg.Host)
	assert.Equal(t, marker, cfg.BearerToken)
}

func TestBuiltKubeconfigHasTheNamesOfTheWire(t *testing.T) {
	data, err := BuildKubeconfig("https://hub", []byte("ca"), "t", "cluster-ns")
	require.NoError(t, err)
	cfg, err := clientcmd.Load(data)
	require.NoError(t, err)
	assert.Equal(t, "default", cfg.CurrentContext)
	assert.Equal(t, "cluster-ns", cfg.Contexts["default"].Namespace)
	assert.Equal(t, "https://hub", cfg.Clusters["cluster"].Server)
	assert.Equal(t, "ca", string(cfg.Clusters["cluster"].CertificateAuthorityData))
	assert.Equal(t, "t", cfg.AuthInfos["user"].Token)

	_, err = BuildKubeconfig("", nil, "t", "ns")
	assert.ErrorContains(t, err, "apiServerURL")
	_, err = BuildKubeconfig("https://hub", nil, "", "ns")
	assert.ErrorContains(t, err, "token")
}
