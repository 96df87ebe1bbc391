package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/registration"
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

// clockTime is in Go's words for a certificate that is out of time, and differs with each try as well.
var clockTime = regexp.MustCompile(`current time \S+ is (after|before)`)

// credentials are what a foreign cluster, or a proxy on the way, may repeat in its answer.
var credentials = regexp.MustCompile(`eyJ[\w-]+\.[\w-]*\.?[\w-]*|(?i:bearer)\s+\S+`)

// maxText bounds what a foreign cluster says, in characters.
const maxText = 768

// plain is what an error says, the same each time that the same happens, in one printable line, without credentials and
// not too long.
func plain(err error) string {
	text := registration.Printable(err.Error(), 8*maxText)
	text = localPort.ReplaceAllString(text, "$1 $2 ")
	text = clockTime.ReplaceAllString(text, "the hub's clock is $1")
	text = credentials.ReplaceAllString(text, "(a credential)")
	if utf8.RuneCountInString(text) > maxText {
		return registration.Printable(text, maxText) + "..."
	}
	return text
}

// explain turns an error of a foreign cluster into a reason and a message that names the secret and the remedy.
func explain(err error, secret string, trust trusted) (reason, message string) {
	text := plain(err)
	var netErr net.Error
	var known *trouble
	if errors.As(err, &known) {
		return known.reason, text
	}
	if reason, message = explainCertificate(err, secret, trust); reason != "" {
		return reason, message
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return "KubeconfigRefused", fmt.Sprintf("the cluster refuses the credential of secret %s: %s; put a new one there", secret, text)
	case apierrors.IsForbidden(err):
		return "Forbidden", fmt.Sprintf("the account of secret %s may not install the agent: %s", secret, text)
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr):
		return reasonUnreachable, unreachable(secret, text)
	default:
		return "ImportFailed", fmt.Sprintf("the agent could not be put into the cluster of secret %s: %s; correct what that names, "+
			"or put a kubeconfig of another server there; %s", secret, text, triedAgain)
	}
}

// triedAgain is what a failure that may pass by itself ends with.
var triedAgain = fmt.Sprintf("the hub tries again by itself, at last every %.0f minutes", retryLast.Minutes())

// unreachable says of a cluster that nobody answers there.
func unreachable(secret, text string) string {
	return fmt.Sprintf("the cluster of secret %s cannot be reached: %s; see that the hub reaches the server which the kubeconfig names "+
		"(address, firewall, proxy), or correct the kubeconfig there; %s", secret, text, triedAgain)
}
