package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A kubeconfig that somebody stored must not lead the hub to the credentials that a cloud serves its machines.
func TestAKubeconfigLeadsToNoLinkLocalAddress(t *testing.T) {
	ca := mustAuthority(t, "cluster")
	set := func(server, proxy string) []byte {
		return kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server, c.ProxyURL, c.CertificateAuthorityData = server, proxy, ca.pem
		})
	}
	for _, host := range []string{
		"169.254.169.254", "169.254.0.1", "169.254.255.255", "[fe80::1]", "[fe80::a9fe:a9fe%25eth0]", "[febf::1]", "[::ffff:169.254.169.254]",
	} {
		for field, data := range map[string][]byte{
			"cluster.server":    set("https://"+host+":6443/latest", ""),
			"cluster.proxy-url": set("https://api.example.org", "http://joe:"+marker+"@"+host+":3128"),
		} {
			_, err := DownstreamConfig(data, TLSStrict, time.Second)
			require.ErrorContains(t, err, field, host)
			assert.ErrorContains(t, err, "link-local", host)
			assert.NotContains(t, err.Error(), marker)
		}
	}
	_, err := DownstreamConfig(set("169.254.169.254:6443", ""), TLSStrict, time.Second)
	require.ErrorContains(t, err, "cluster.server", "a host without a scheme is one as well")
	for _, host := range []string{"169.253.1.1", "169.255.1.1", "127.0.0.1", "10.0.0.1", "[fec0::1]", "[fd00::1]", "169.254.169.254.example.org", "fe80"} {
		_, err := DownstreamConfig(set("https://"+host, "http://"+host+":3128"), TLSStrict, time.Second)
		assert.NoError(t, err, host)
	}
	_, err = UpstreamConfig(set("https://169.254.1.1", ""), TLSStrict, time.Second)
	assert.NoError(t, err, "an agent goes where its hub says that it is")
}

// A name may lead anywhere, and elsewhere the next time.
func TestALinkLocalAddressBehindANameIsRefusedWhenItIsDialled(t *testing.T) {
	ca := mustAuthority(t, "cluster")
	data := kubeconfigWith(t, func(_ *clientcmdapi.Config, c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.CertificateAuthorityData = ca.pem
	})
	for _, address := range []string{"169.254.169.254", "[fe80::1%25lo]"} {
		cfg, err := DownstreamConfig(data, TLSStrict, 10*time.Second)
		require.NoError(t, err)
		cfg.Host = "https://" + address // as if api.example.org were there
		clients, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		_, err = clients.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		require.ErrorIs(t, err, ErrLinkLocal)
	}
}
