package clusterimport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/registration"
)

// issuer is a CA of a test.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue makes a certificate of this CA, or with none a CA, that is good for some time around now.
func (i *issuer) issue(t *testing.T, name string, from, until time.Duration) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := template, key
	if i == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
	} else {
		parent, signer = i.cert, i.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return &issuer{cert, key}
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

// serve has a foreign cluster show certificates, its own first, and be known by a CA.
func (d *downstream) serve(t *testing.T, h *hub, ca []byte, chain ...*issuer) {
	t.Helper()
	shown := tls.Certificate{PrivateKey: chain[0].key}
	for _, c := range chain {
		shown.Certificate = append(shown.Certificate, c.cert.Raw)
	}
	server := httptest.NewUnstartedServer(d.Server)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	d.kubeconfig, err = kube.BuildKubeconfig(server.URL, ca, "a-token", "default")
	require.NoError(t, err)
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig}))
}

// T03: the CA in the secret and the one that signed what is served are two. Who reads the condition can compare them.
func TestACertificateThatIsNotTrustedIsComparedWithTheExpected(t *testing.T) {
	var none *issuer
	caA, caB := none.issue(t, "CA-A", -time.Hour, time.Hour), none.issue(t, "CA-B", -time.Hour, time.Hour)
	ended := none.issue(t, "CA-A", -2*time.Hour, -time.Hour)
	for name, test := range map[string]struct {
		ca     []byte
		chain  []*issuer
		reason string
		says   []string
	}{
		"another CA": {caA.pem(), []*issuer{caB.issue(t, "served", -time.Hour, time.Hour)}, "UntrustedCertificate",
			[]string{`"CN=CA-A" (SHA-256 ` + registration.CertificateFingerprint(caA.cert), `served: "CN=served" (SHA-256 `, `issued by "CN=CA-B"`, "certificate-authority-data"}},
		"another CA that is shown": {caA.pem(), []*issuer{caB.issue(t, "served", -time.Hour, time.Hour), caB}, "UntrustedCertificate",
			[]string{`with "CN=CA-B" (SHA-256 ` + registration.CertificateFingerprint(caB.cert)}},
		"another CA of the same name": {none.issue(t, "CA-B", -time.Hour, time.Hour).pem(), []*issuer{caB.issue(t, "served", -time.Hour, time.Hour), caB}, "UntrustedCertificate",
			[]string{registration.CertificateFingerprint(caB.cert)}},
		"a certificate that has ended": {caA.pem(), []*issuer{caA.issue(t, "served", -2*time.Hour, -time.Hour)}, "UntrustedCertificate",
			[]string{"the certificate that the server of secret", `"CN=served"`, "renew it on the cluster"}},
		"a certificate that is to begin": {caA.pem(), []*issuer{caA.issue(t, "served", time.Hour, 2*time.Hour)}, "UntrustedCertificate",
			[]string{"correct the clock of the hub"}},
		"a CA that has ended": {ended.pem(), []*issuer{ended.issue(t, "served", -time.Hour, time.Hour)}, "UntrustedCertificate",
			[]string{"the CA of secret fleet-default/kubeconfig", "put the CA that follows"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			d.serve(t, h, test.ca, test.chain...)
			h.work1(t)
			h.answerToken(t)
			require.Error(t, h.work(t.Context(), key))
			c := h.imported(t)
			assert.Equal(t, test.reason, c.Reason)
			assert.Contains(t, c.Message, "fleet-default/kubeconfig")
			for _, part := range append(test.says, registration.CertificateFingerprint(test.chain[0].cert)) {
				if strings.Contains(name, "a CA that has ended") && part == registration.CertificateFingerprint(test.chain[0].cert) {
					continue // the CA alone is wrong
				}
				assert.Contains(t, c.Message, part)
			}
			assert.NotRegexp(t, regexp.MustCompile("current time"), c.Message)
			h.writes()
			h.clock.SetTime(h.clock.Now().Add(time.Minute))
			require.Error(t, h.work(t.Context(), key))
			assert.Empty(t, h.writes(), "it reads the same at each try")
		})
	}
}

func TestWhoIsExpectedFollowsFromTheMode(t *testing.T) {
	var none *issuer
	ca := []*x509.Certificate{none.issue(t, "CA-A", -time.Hour, time.Hour).cert}
	for range maxShown {
		ca = append(ca, ca[0])
	}
	assert.NotContains(t, trusted{ca: ca[:1]}.describe(), "system")
	assert.NotContains(t, trusted{ca: ca[:maxShown]}.describe(), "others")
	assert.Contains(t, trusted{ca: ca}.describe(), "and others")
	assert.Contains(t, trusted{ca: ca, system: true}.describe(), "or one of the system's authorities")
	assert.Contains(t, trusted{system: true}.describe(), "has no CA")
}

func TestACertificateOfAProxyIsNotTheClusters(t *testing.T) {
	err := fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: "https://x", Err: &kube.ProxyTLSError{Address: "p:443", Err: x509.UnknownAuthorityError{}}})
	reason, message := explain(err, "s", trusted{})
	assert.Equal(t, "Unreachable", reason)
	assert.Contains(t, message, "TLS with the proxy p:443")
	assert.NotContains(t, message, "certificate-authority-data")
}

// A cluster whose webhook has a bad certificate says so in an answer, and who has answered is trusted. What it says
// chooses neither reason nor remedy.
func TestACertificateThatTheClusterComplainsOfIsNotItsOwn(t *testing.T) {
	for _, text := range []string{
		`failed calling webhook "w.example.com": Post "https://w.ns.svc:443/": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
		"TLS with the proxy p:443: x509: certificate has expired",
	} {
		h, d := importing(t)
		h.work1(t)
		h.answerToken(t)
		d.refuse("/deployments", http.StatusInternalServerError, metav1.StatusReasonInternalError, text)
		require.Error(t, h.work(t.Context(), key))
		assert.Equal(t, "ImportFailed", h.imported(t).Reason)
		assert.Contains(t, h.imported(t).Message, text)
		assert.NotContains(t, h.imported(t).Message, "certificate-authority-data")

		d.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			kubetest.Fail(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, text)
			return true
		})
		require.Error(t, h.work(t.Context(), key))
		assert.Equal(t, "KubeconfigRefused", h.imported(t).Reason)
	}
}

// T11: what the secret holds has ended, and the cluster says no more than that it refuses.
func TestAnEndedKubeconfigIsNamedAsTheLikelyCause(t *testing.T) {
	h, d := importing(t)
	h.clock.SetTime(time.Now())
	claims := `{"sub":"a","iat":1,"exp":1700000000}`
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte(strings.Replace(string(d.kubeconfig), "a-token", token, 1))}))
	h.work1(t)
	h.answerToken(t)
	d.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		kubetest.Fail(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
		return true
	})
	require.Error(t, h.work(t.Context(), key))
	assert.Equal(t, "KubeconfigRefused", h.imported(t).Reason)
	assert.Contains(t, h.imported(t).Message, "the credential of the kubeconfig ended at 2023-11-14T22:13:20Z")
	assert.Contains(t, h.imported(t).Message, "fleet-default/kubeconfig")
	assert.NotContains(t, h.imported(t).Message, token)
	assert.Equal(t, int64(1700000000), h.cluster().Status.Credential.KubeconfigExpires.Unix())
}
