package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/kube"
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

// ours marks an error of this hub's own API server, which else would be explained as the other cluster's.
func ours(err error) error {
	var known *trouble
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &trouble{reason: reasonFailed, err: fmt.Errorf("on this hub, not on the cluster: %w; %s", err, triedAgain)}
}

// maxText bounds what a foreign cluster says, in characters.
const maxText = 768

// plain is what an error says, the same each time that the same happens, without credentials and not too long.
func plain(err error) string { return registration.Steady(err.Error(), maxText) }

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
	case errors.Is(err, kube.ErrLinkLocal):
		return reasonBadKubeconfig, fmt.Sprintf("secret %s: %s; put an address there that the cluster is reached at from elsewhere; %s", secret, text, triedAgain)
	case apierrors.IsUnauthorized(err):
		return "KubeconfigRefused", fmt.Sprintf("the cluster refuses the credential of secret %s: %s; put a new one there", secret, text)
	case apierrors.IsForbidden(err):
		return "Forbidden", fmt.Sprintf("the account of secret %s may not install the agent: %s", secret, text)
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr):
		return reasonUnreachable, unreachable(secret, text)
	default:
		return reasonFailed, fmt.Sprintf("the hub could not do its work on the cluster of secret %s: %s; correct what that names, "+
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
