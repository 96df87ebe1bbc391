package preflight

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority is a CA made for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// life is when a certificate begins and ends, from now.
type life struct{ from, until time.Duration }

var (
	young   = life{-time.Hour, 100 * time.Hour}
	old     = life{-90 * time.Hour, 10 * time.Hour}
	ended   = life{-90 * time.Hour, -time.Hour}
	toCome  = life{time.Hour, 100 * time.Hour}
	serials = big.NewInt(1)
)

func newAuthority(t *testing.T, name string, l life) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := template(name, l)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}
}

func template(name string, l life) *x509.Certificate {
	serials = new(big.Int).Add(serials, big.NewInt(1))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serials, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(l.from), NotAfter: now.Add(l.until),
	}
}

// issue makes a certificate for hosts, or for a client where none is given, and its key, both as PEM.
func (a *authority) issue(t *testing.T, name string, l life, hosts ...string) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := template(name, l)
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER)
}

// pair is what issue makes, for a server.
func (a *authority) pair(t *testing.T, l life, hosts ...string) tls.Certificate {
	t.Helper()
	cert, key := a.issue(t, "server", l, hosts...)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	return pair
}

// parsed is the certificate of a PEM text.
func parsed(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	certs := parsePEM(text)
	require.Len(t, certs, 1)
	return certs[0]
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
