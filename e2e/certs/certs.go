// Package certs makes the throw-away certificate authorities of the lab and of the fault shim.
//
// It imports the standard library only.
package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authorityLife outlives every test and most labs that were forgotten.
const authorityLife = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its key, both as PEM.
type Pair struct {
	Cert []byte
	Key  []byte
}

// Authority is a certificate authority with its key.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a self-signed authority. Two calls with one name make two authorities that do not trust each other.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of authority %s: %w", commonName, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: commonName}, authorityLife)
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of authority %s: %w", commonName, err)
	}
	pair, err := encode(der, key)
	if err != nil {
		return nil, err
	}
	return ParseAuthority(pair)
}

// ParseAuthority reads an authority that was written to files earlier.
func ParseAuthority(pair Pair) (*Authority, error) {
	certBlock, _ := pem.Decode(pair.Cert)
	keyBlock, _ := pem.Decode(pair.Key)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("authority: the certificate or its key is not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate of authority: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("key of authority %s: %w", cert.Subject.CommonName, err)
	}
	return &Authority{Pair: pair, cert: cert, key: key}, nil
}

// Pool trusts this authority and nothing else.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server issues a serving certificate for the given DNS names and IP addresses.
func (a *Authority) Server(commonName string, life time.Duration, hosts ...string) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: commonName}, life)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

// Client issues a client certificate; Kubernetes reads the user from the common name and the groups from the organisations.
func (a *Authority) Client(user string, life time.Duration, groups ...string) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups}, life)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("key of %s: %w", template.Subject.CommonName, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate of %s: %w", template.Subject.CommonName, err)
	}
	return encode(der, key)
}

// SigningKey makes a key pair for service-account tokens: the public key where a certificate's pair has the certificate.
func SigningKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("signing key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return Pair{}, fmt.Errorf("public signing key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodePEM("PUBLIC KEY", public), Key: private}, nil
}

func newTemplate(subject pkix.Name, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("serial number of %s: %w", subject.CommonName, err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // clocks that are a little behind
		NotAfter:     now.Add(life),
	}, nil
}

func encode(der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodePEM("CERTIFICATE", der), Key: private}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	var out bytes.Buffer
	// Writing to a buffer cannot fail.
	_ = pem.Encode(&out, &pem.Block{Type: kind, Bytes: der})
	return out.Bytes()
}
