package kube

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// onDisk is a kubeconfig whose credential stands in files beside it.
func onDisk(t *testing.T, server string, ca []byte, user clientcmdapi.AuthInfo) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos["u"] = &user
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	cfg.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, clientcmd.WriteToFile(*cfg, file))
	return file
}

func processClient(t *testing.T, kubeconfig string) *discovery.DiscoveryClient {
	t.Helper()
	cfg, err := RESTConfig(kubeconfig, "", "test")
	require.NoError(t, err)
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	require.NoError(t, err)
	return client
}

// T10: a token in a file, as every pod has it, stays one: client-go reads it again each minute.
func TestATokenFileIsReadAgain(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("first\n"), 0o600))
	cfg, err := RESTConfig(onDisk(t, "https://h", nil, clientcmdapi.AuthInfo{TokenFile: token}), "", "test")
	require.NoError(t, err)
	assert.Equal(t, token, cfg.BearerTokenFile, "without the path the token would be that of the start for ever")
}

// T10: a client certificate in files is replaced while the process runs. The next connection shows the new one; client-go
// looks at the files once a second.
func TestAClientCertificateThatIsReplacedIsUsedByTheNextConnection(t *testing.T) {
	authority := mustAuthority(t, "cluster")
	var seen atomic.Value
	server := authority.serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.TLS.PeerCertificates[0].Subject.CommonName)
		answerVersion(w, r)
	})
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	replace := func(user string) {
		cert, key := authority.issue(t, user)
		require.NoError(t, os.WriteFile(certFile, cert, 0o600))
		require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	}
	replace("first")
	client := processClient(t, onDisk(t, server.URL, authority.pem, clientcmdapi.AuthInfo{ClientCertificate: certFile, ClientKey: keyFile}))
	_, err := client.ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "first", seen.Load())

	replace("second")
	require.Eventually(t, func() bool {
		server.CloseClientConnections()
		_, err := client.ServerVersion()
		return err == nil && seen.Load() == "second"
	}, deadlineFor, deadlineFor/100)
}
