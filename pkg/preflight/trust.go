package preflight

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rancher/fleet/pkg/kube"
)

// served is what a server showed in its TLS handshake, and who was to be trusted.
type served struct {
	// certs are the certificates as the server sent them, its own first.
	certs []*x509.Certificate
	roots *x509.CertPool
	// trust says in words who that was.
	trust string
	// name is whom the certificate has to be for.
	name string
}

// servedBy finds the certificates of a handshake, also of one that failed for them.
func servedBy(state *tls.ConnectionState, err error) []*x509.Certificate {
	var refused *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		return refused.UnverifiedCertificates
	case state != nil:
		return state.PeerCertificates
	}
	return nil
}

// trustText says who is trusted.
func trustText(ca []byte, mode string) string {
	switch {
	case mode == kube.TLSStrict:
		return "the given CA, which agentTLSMode strict trusts alone,"
	case len(ca) == 0:
		return "the system's roots, no CA being given,"
	}
	return "the given CA and the system's roots"
}

// decideTLS judges a handshake. err is nil where it was completed, which is proof that the certificate is trusted. Of one
// that is not, everything that is wrong is told at once: the standard library stops at the first.
func decideTLS(s served, err error, words wording, now time.Time) finding {
	if err != nil && len(s.certs) == 0 {
		return decideHandshake(err, words)
	}
	if len(s.certs) == 0 {
		return failure("the server showed no certificate", "Give the address of an API server in "+words.address+".")
	}
	leaf := s.certs[0]
	shown := fmt.Sprintf("served: %s, for %s, until %s", describe(leaf), namesOf(leaf), day(leaf.NotAfter))
	if err == nil {
		if endsSoon(leaf.NotBefore, leaf.NotAfter, now) {
			return doubt(fmt.Sprintf("the certificate is trusted, and ends in %s; %s", left(leaf.NotAfter, now), shown),
				"Renew the certificate of the API server before it ends.")
		}
		return fine("the certificate is trusted; " + shown)
	}
	problems, remedies := s.problems(words, now)
	if len(problems) == 0 {
		problems, remedies = []string{reasonOf(err)}, []string{"Have the API server serve a certificate that the CA in " + words.ca + " has issued."}
	}
	return failure(strings.Join(problems, "; ")+"; "+shown+s.chain(), strings.Join(remedies, " "))
}

func reasonOf(err error) string {
	var refused *tls.CertificateVerificationError
	if errors.As(err, &refused) {
		err = refused.Err
	}
	return word(err.Error())
}

// problems are all reasons not to trust the certificate, each with what to do.
func (s served) problems(words wording, now time.Time) (problems, remedies []string) {
	add := func(problem, remedy string) {
		problems, remedies = append(problems, problem), append(remedies, remedy)
	}
	leaf := s.certs[0]
	switch {
	case now.After(leaf.NotAfter):
		add(fmt.Sprintf("the certificate ended at %s, by this machine's clock", day(leaf.NotAfter)), "Renew the certificate of the API server.")
	case now.Before(leaf.NotBefore):
		add(fmt.Sprintf("the certificate begins at %s, and this machine's clock says %s", day(leaf.NotBefore), day(now)), "Set the clock of this machine or of the API server.")
	}
	if leaf.VerifyHostname(s.name) != nil {
		add(fmt.Sprintf("the certificate is not for %s", word(s.name)), "Put an address that the certificate names into "+words.address+".")
	}
	inner := x509.NewCertPool()
	for _, cert := range s.certs[1:min(len(s.certs), maxCertificates)] {
		inner.AddCert(cert)
	}
	// The chain is looked at in the middle of the certificate's own time, which is judged above.
	_, err := leaf.Verify(x509.VerifyOptions{Roots: s.roots, Intermediates: inner, CurrentTime: within(leaf, now)})
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		add("the certificate is not trusted: nothing in "+s.trust+" issued it",
			"Put the CA that issued it into "+words.ca+", once you have compared its SHA-256 with someone who runs the server.")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		add("a CA of its chain has ended or has not begun", "Put the CA that the server uses today into "+words.ca+".")
	case err != nil:
		add(word(err.Error()), "Have the API server serve another certificate.")
	}
	return problems, remedies
}

func within(cert *x509.Certificate, now time.Time) time.Time {
	if now.After(cert.NotAfter) {
		return cert.NotAfter
	}
	if now.Before(cert.NotBefore) {
		return cert.NotBefore
	}
	return now
}

// chain names the other certificates that were served, the issuer among them.
func (s served) chain() string {
	var shown strings.Builder
	for _, cert := range s.certs[1:min(len(s.certs), 4)] {
		fmt.Fprintf(&shown, "; with it: %s", describe(cert))
	}
	return shown.String()
}

// decideHandshake judges a handshake that came to no certificate.
func decideHandshake(err error, words wording) finding {
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		return failure("the server does not speak TLS at this port", "Give the address and port of the API server in "+words.address+".")
	case isTimeout(err):
		return failure("the server took the connection and then said nothing", "Look at what stands between: a firewall, a load balancer without a backend, or a port of something else than an API server.")
	}
	return failure("no TLS connection: "+word(err.Error()), "Give the address and port of the API server in "+words.address+", and look at what stands between.")
}
