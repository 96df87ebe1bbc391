package clusterimport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// trouble is a failed step of an import, as a condition tells it.
type trouble struct {
	reason string
	err    error
	// final says that only a change of the inputs can help: there is no use in trying again.
	final bool
}

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// localPort is the end of a connection that changes with each try: a condition that names it would be written anew
// each time.
var localPort = regexp.MustCompile(`(read|write|dial) (tcp|udp) \S+->`)

// credentials are what a foreign cluster, or a proxy on the way, may repeat in its answer.
var credentials = regexp.MustCompile(`eyJ[\w-]+\.[\w-]*\.?[\w-]*|(?i:bearer)\s+\S+`)

// maxText bounds what a foreign cluster says.
const maxText = 768

// plain is what an error says, the same each time that the same happens, without credentials and not too long.
func plain(err error) string {
	text := err.Error()
	if len(text) > 8*maxText {
		text = text[:8*maxText]
	}
	text = localPort.ReplaceAllString(text, "$1 $2 ")
	text = credentials.ReplaceAllString(text, "(a credential)")
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

// explain turns an error of a foreign cluster into a reason and a message that names the secret and the remedy.
func explain(err error, secret string) (reason, message string) {
	text := plain(err)
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var netErr net.Error
	var known *trouble
	switch {
	case errors.As(err, &known):
		return known.reason, text
	case errors.As(err, &hostname):
		return "CertificateMismatch", fmt.Sprintf("the cluster's certificate is for another address than that of secret %s: %s; put an address into the kubeconfig that the certificate names, or set tls-server-name there", secret, text)
	case errors.As(err, &unknown) || strings.Contains(text, "x509:"):
		return "UntrustedCertificate", fmt.Sprintf("the cluster's certificate is not trusted with the CA of secret %s: %s%s; put the CA that the server uses into the kubeconfig", secret, text, served(unknown))
	case apierrors.IsUnauthorized(err):
		return "KubeconfigRefused", fmt.Sprintf("the cluster refuses the credential of secret %s: %s; put a new one there", secret, text)
	case apierrors.IsForbidden(err):
		return "Forbidden", fmt.Sprintf("the account of secret %s may not install the agent: %s", secret, text)
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr):
		return reasonUnreachable, "the cluster cannot be reached: " + text
	default:
		return "ImportFailed", text
	}
}

// served names the certificate that was seen.
func served(e x509.UnknownAuthorityError) string {
	if e.Cert == nil {
		return ""
	}
	return fmt.Sprintf(" (served: %q, issued by %q, SHA-256 %s)", e.Cert.Subject, e.Cert.Issuer, digest(e.Cert.Raw))
}
