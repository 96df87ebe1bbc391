package kube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func writeKubeconfig(t *testing.T, servers map[string]string, current string) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	for name, server := range servers {
		cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server}
		cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: "token"}
		cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	cfg.CurrentContext = current
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, clientcmd.WriteToFile(*cfg, file))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "token"), []byte("t"), 0o600))
	return file
}

func TestRESTConfigReadsTheGivenFileOnly(t *testing.T) {
	mine := writeKubeconfig(t, map[string]string{"one": "https://one", "two": "https://two"}, "one")
	t.Setenv("KUBECONFIG", writeKubeconfig(t, map[string]string{"other": "https://other"}, "other"))
	t.Setenv("HOME", t.TempDir())

	cfg, err := RESTConfig(mine, "", "fleet-controller/v1")
	require.NoError(t, err)
	assert.Equal(t, "https://one", cfg.Host)
	assert.Equal(t, "fleet-controller/v1", cfg.UserAgent)
	assert.Equal(t, filepath.Join(filepath.Dir(mine), "token"), cfg.BearerTokenFile, "paths are relative to the file")
	assert.Negative(t, cfg.QPS)

	cfg, err = RESTConfig(mine, "two", "x")
	require.NoError(t, err)
	assert.Equal(t, "https://two", cfg.Host)

	_, err = RESTConfig(mine, "other", "x")
	assert.ErrorContains(t, err, `"other"`)
	_, err = RESTConfig(mine+"-missing", "", "x")
	assert.ErrorContains(t, err, "-missing")
}

func TestRESTConfigWithoutAFileIsInClusterOnly(t *testing.T) {
	t.Setenv("KUBECONFIG", writeKubeconfig(t, map[string]string{"other": "https://other"}, "other"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	_, err := RESTConfig("", "", "x")

	assert.ErrorContains(t, err, "--kubeconfig")
}

func TestRESTConfigOfAnEmptyFileDoesNotFallBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"), 0o600))
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")

	_, err := RESTConfig(file, "", "x")

	assert.ErrorContains(t, err, file)
}
