package clusterimport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// maxShown bounds how many certificates of a bundle or of a server a message names.
const maxShown = 3

// trusted is who may have signed what a cluster serves.
type trusted struct {
	// ca are the certificates of the kubeconfig.
	ca []*x509.Certificate
	// system says that the system's authorities count as well.
	system bool
}

// explainCertificate says what is wrong with the certificate that a cluster serves: who was expected and who was seen, so
// that the two can be compared. Empty where the error is about something else, such as the certificate of a proxy, or one
// that the cluster itself complains of: whoever answered had one that is trusted. Only types count, since any text may be
// the cluster's choice.
func explainCertificate(err error, secret string, trust trusted) (reason, message string) {
	var answered apierrors.APIStatus
	var proxy *kube.ProxyTLSError
	var failed *tls.CertificateVerificationError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &answered), errors.As(err, &proxy):
		return "", ""
	case errors.As(err, &hostname):
		return "CertificateMismatch", fmt.Sprintf("the cluster's certificate is for another address than that of secret %s: %s; put an address into the kubeconfig that the certificate names, or set tls-server-name there", secret, plain(err))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return reasonUntrusted, outOfTime(invalid.Cert, secret, trust.ca)
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &failed):
		return reasonUntrusted, fmt.Sprintf("the cluster's certificate is not trusted with the CA of secret %s; expected: signed by %s; served: %s; "+
			"put the CA that the server uses into certificate-authority-data of the kubeconfig: %s", secret, trust.describe(), served(err, unknown), plain(err))
	}
	return "", ""
}

// outOfTime is for a certificate of which only the time is wrong. The error's own words have the time of day in them.
func outOfTime(c *x509.Certificate, secret string, ca []*x509.Certificate) string {
	what, remedy := "the certificate that the server of secret "+secret+" shows", "renew it on the cluster"
	if slices.ContainsFunc(ca, c.Equal) {
		what, remedy = "the CA of secret "+secret, "put the CA that follows into certificate-authority-data of the kubeconfig"
	}
	return fmt.Sprintf("%s, %s, is good from %s to %s, and the hub's clock shows another time; %s, or correct the clock of the hub",
		what, registration.DescribeCertificate(c), c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339), remedy)
}

func (t trusted) describe() string {
	switch {
	case len(t.ca) == 0:
		return "one of the system's authorities (the kubeconfig has no CA)"
	case t.system:
		return described(t.ca) + " or one of the system's authorities"
	}
	return described(t.ca)
}

func described(certs []*x509.Certificate) string {
	var out []string
	for _, c := range certs[:min(len(certs), maxShown)] {
		out = append(out, registration.DescribeCertificate(c))
	}
	if more := len(certs) - maxShown; more > 0 {
		out = append(out, "and others")
	}
	return strings.Join(out, ", ")
}

// served names the certificate that was seen, its issuer, and what came with it.
func served(err error, unknown x509.UnknownAuthorityError) string {
	var failed *tls.CertificateVerificationError
	var chain []*x509.Certificate
	if errors.As(err, &failed) {
		chain = failed.UnverifiedCertificates
	}
	if len(chain) == 0 && unknown.Cert != nil {
		chain = []*x509.Certificate{unknown.Cert}
	}
	if len(chain) == 0 {
		return "unknown"
	}
	text := fmt.Sprintf("%s issued by %q", registration.DescribeCertificate(chain[0]), registration.Printable(chain[0].Issuer.String(), maxIssuer))
	if len(chain) > 1 {
		text += ", with " + described(chain[1:])
	}
	return text
}

// maxIssuer is how much of an issuer's name is repeated.
const maxIssuer = 80

// trustOf is who the hub trusts with a kubeconfig.
func trustOf(f facts) trusted {
	t := trusted{system: f.config.AgentTLSMode == config.TLSSystemStore}
	if f.secret == nil {
		return t
	}
	if cfg, err := kube.ParseKubeconfig(f.secret.Data[keyKubeconfig]); err == nil {
		t.ca = registration.CertificatesIn(cfg.CAData)
	}
	return t
}
