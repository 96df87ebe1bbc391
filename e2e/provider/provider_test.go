package provider

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestTheEnvironmentChoosesTheProvider(t *testing.T) {
	for value, name := range map[string]string{"": labName, "lab": labName, "k3d": k3dName} {
		t.Setenv(Variable, value)
		p, err := Chosen()
		require.NoError(t, err)
		assert.Equal(t, name, p.Name())
	}
	t.Setenv(Variable, "kind")
	_, err := Chosen()
	assert.ErrorContains(t, err, `FLEET_E2E_PROVIDER is "kind"`)
}

func TestAProviderWithoutItsProgramsSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := k3dProvider{}.Missing(t.Context())
	assert.ErrorContains(t, err, "needs docker")
	assert.ErrorContains(t, err, "needs k3d")
}

func TestAKubeconfigForPodsHasTheirAddressAndTheSameRights(t *testing.T) {
	front := Front{URL: "https://10.1.2.3:6443", CA: []byte("ca")}
	for name, cfg := range map[string]*rest.Config{
		"token":       {Host: "https://127.0.0.1:1", BearerToken: "secret"},
		"certificate": {Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CertData: []byte("cert"), KeyData: []byte("key")}},
	} {
		content, err := InsideKubeconfig(cfg, front)
		require.NoError(t, err, name)
		got, err := clientcmd.RESTConfigFromKubeConfig(content)
		require.NoError(t, err, name)
		assert.Equal(t, front.URL, got.Host)
		assert.Equal(t, front.CA, got.CAData)
		assert.Equal(t, cfg.BearerToken, got.BearerToken)
		assert.Equal(t, cfg.CertData, got.CertData)
	}
	_, err := InsideKubeconfig(&rest.Config{Host: "https://127.0.0.1:1"}, front)
	assert.ErrorContains(t, err, "neither a token nor a client certificate")
}
