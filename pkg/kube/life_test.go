package kube

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/pkg/registration"
)

func kubeconfigOf(t testing.TB, ca []byte, user clientcmdapi.AuthInfo) []byte {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://cluster.example.com", CertificateAuthorityData: ca}
	c.AuthInfos["u"] = &user
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	data, err := clientcmd.Write(*c)
	require.NoError(t, err)
	return data
}

func tokenUntil(until time.Time) string {
	claims := fmt.Sprintf(`{"sub":"a","iat":%d,"exp":%d}`, until.Add(-time.Hour).Unix(), until.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestHowLongAKubeconfigIsGood(t *testing.T) {
	ca, err := newAuthority("a CA")
	require.NoError(t, err)
	now := time.Now()
	soon, late := now.Add(time.Minute).UTC().Truncate(time.Second), ca.cert.NotAfter.Add(time.Hour).UTC().Truncate(time.Second)

	for name, test := range map[string]struct {
		user clientcmdapi.AuthInfo
		want time.Time
	}{
		"a token":                      {clientcmdapi.AuthInfo{Token: tokenUntil(soon)}, soon},
		"a token that says nothing":    {clientcmdapi.AuthInfo{Token: "kubeconfig-user:abc"}, time.Time{}},
		"a certificate":                {clientcmdapi.AuthInfo{ClientCertificateData: ca.pem, ClientKeyData: []byte("key")}, ca.cert.NotAfter},
		"both, the token ends first":   {clientcmdapi.AuthInfo{ClientCertificateData: ca.pem, ClientKeyData: []byte("key"), Token: tokenUntil(soon)}, soon},
		"both, the token ends later":   {clientcmdapi.AuthInfo{ClientCertificateData: ca.pem, ClientKeyData: []byte("key"), Token: tokenUntil(late)}, ca.cert.NotAfter},
		"a name and a password":        {clientcmdapi.AuthInfo{Username: "a", Password: "b"}, time.Time{}},
		"a program, which is not used": {clientcmdapi.AuthInfo{Token: tokenUntil(soon), TokenFile: "/x"}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			credential, authority := KubeconfigLives(kubeconfigOf(t, ca.pem, test.user), now)
			assert.True(t, test.want.Equal(credential.Until), "%s", credential.Until)
			if test.user.TokenFile == "" {
				assert.True(t, ca.cert.NotAfter.Equal(authority.Until))
				assert.NotEmpty(t, authority.Fingerprint)
			}
		})
	}
	credential, authority := KubeconfigLives([]byte("{"), now)
	assert.False(t, credential.Known() || authority.Known())
}

func FuzzKubeconfigLives(f *testing.F) {
	ca, err := newAuthority("a CA")
	require.NoError(f, err)
	good := string(kubeconfigOf(f, ca.pem, clientcmdapi.AuthInfo{ClientCertificateData: ca.pem, ClientKeyData: []byte("key"), Token: tokenUntil(time.Unix(2e9, 0))}))
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, "LS0t", "LS0u", 1)))
	f.Add([]byte(strings.Replace(good, "certificate-authority-data", "x", 1)))
	f.Add([]byte(strings.Replace(good, "token: ", "token: eyJ", 1)))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		credential, authority := KubeconfigLives(data, time.Unix(1e9, 0))
		if _, err := ParseKubeconfig(data); err != nil {
			require.Zero(t, credential, "nothing is said of what is refused")
			require.Zero(t, authority)
		}
		for _, life := range []registration.Life{credential, authority} {
			if !life.Known() {
				require.Zero(t, life)
				continue
			}
			_, err := life.Until.MarshalJSON()
			require.NoError(t, err, "a time can be stored")
			require.LessOrEqual(t, len(life.Fingerprint), 64)
		}
	})
}
