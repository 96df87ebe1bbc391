package preflight

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/rancher/fleet/pkg/registration"
)

// maxCertificates bounds how many certificates of a bundle or of a server are looked at and named.
const maxCertificates = 50

// endsSoon says whether so little of a life is left that the hub speaks of it too. A life without a beginning has none to
// measure.
func endsSoon(from, until, now time.Time) bool {
	return registration.Life{From: from, Until: until}.EndsSoon(now)
}

func fingerprint(cert *x509.Certificate) string { return registration.CertificateSHA256(cert) }

// describe tells which certificate it is, so that people who cannot see each other's screen can compare.
func describe(cert *x509.Certificate) string {
	return fmt.Sprintf("subject %q, issuer %q, SHA-256 %s", printable(cert.Subject.String(), 128), printable(cert.Issuer.String(), 128), fingerprint(cert))
}

// day is a time as it is shown: what counts is the day, and for what is short the hour.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func left(until, now time.Time) string { return duration.HumanDuration(until.Sub(now)) }

// namesOf are the addresses that a certificate is for.
func namesOf(cert *x509.Certificate) string {
	names := append([]string{}, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no address at all"
	}
	more := ""
	if len(names) > 20 {
		more = fmt.Sprintf(" and %d more", len(names)-20)
		names = names[:20]
	}
	return printable(strings.Join(names, ", "), 512) + more
}

// parsePEM reads the certificates of a bundle. What is no certificate is left out, as Go's own pools do.
func parsePEM(bundle []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	for len(bundle) > 0 && len(certs) < maxCertificates {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			certs = append(certs, cert)
		}
	}
	return certs
}

// decideCA judges the CA that was given. A bundle may have an old CA beside the one in use.
func decideCA(bundle []byte, mode string, words wording, now time.Time) finding {
	if len(bundle) == 0 {
		return fine("none is given; the roots of this machine's system count")
	}
	certs := parsePEM(bundle)
	if len(certs) == 0 {
		return failure("it holds no certificate", "Put the CA of the API server as PEM, one or more CERTIFICATE blocks, into "+words.ca+".")
	}
	var lines []string
	var ended, soon int
	for _, cert := range certs {
		line := fmt.Sprintf("%s, until %s", describe(cert), day(cert.NotAfter))
		switch {
		case now.After(cert.NotAfter):
			ended++
			line += " (it has ended)"
		case endsSoon(cert.NotBefore, cert.NotAfter, now):
			soon++
			line += fmt.Sprintf(" (%s left)", left(cert.NotAfter, now))
		}
		lines = append(lines, line)
	}
	found := fmt.Sprintf("agentTLSMode %s; %s", mode, strings.Join(lines, "; "))
	renew := "Put the CA that follows beside it into " + words.ca + " before the old one ends."
	switch {
	case ended == len(certs):
		return failure(found, "Put the CA that the API server uses today into "+words.ca+".")
	case ended > 0:
		return doubt(found, "Take the CA that has ended out of "+words.ca+" if the server does not use it any more.")
	case soon > 0:
		return doubt(found, renew)
	}
	return fine(found)
}

// decideClientCertificate judges the certificate that a kubeconfig authenticates with.
func decideClientCertificate(certPEM, keyPEM []byte, now time.Time) finding {
	const again = "Have the cluster issue a new client certificate and put it and its key into client-certificate-data and client-key-data."
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return failure("client-certificate-data and client-key-data do not go together or are no PEM", again)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return failure("client-certificate-data cannot be read", again)
	}
	found := fmt.Sprintf("%s, until %s", describe(cert), day(cert.NotAfter))
	switch {
	case now.After(cert.NotAfter):
		return failure(found+": it has ended", again)
	case now.Before(cert.NotBefore):
		return failure(fmt.Sprintf("%s: it begins at %s", found, day(cert.NotBefore)), "Set this machine's clock, or wait until the certificate is good.")
	case endsSoon(cert.NotBefore, cert.NotAfter, now):
		return doubt(fmt.Sprintf("%s: %s left", found, left(cert.NotAfter, now)), again)
	}
	return fine(found)
}
