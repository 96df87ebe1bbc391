package register

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/rancher/fleet/pkg/agent/hub"
)

// unreachable reports a hub that does not answer. What exactly went wrong may differ each time and is no news; that it is
// the certificate now, or no longer, is.
func (r *reporter) unreachable(t topic, server string, err error) {
	state, message := "", fmt.Sprintf("Hub %s cannot be reached, trying again: %v", server, err)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		state = "certificate"
		message += "; its CA is what apiServerCA says where the agent got its bootstrap values, and a new Secret fleet-agent-bootstrap brings another"
	}
	r.warning(t, EventHubUnreachable, state, message)
}

// heartbeatFails says why the hub hears nothing of an agent whose credential has worked.
func (r *reporter) heartbeatFails(server string, err error) {
	switch answer := hub.AnswerOf(err); answer {
	case hub.Unreachable:
		r.unreachable(topicHeartbeat, server, err)
	case hub.Unauthorized:
		// The credential is being tried; what comes of that is said then.
	default:
		r.warning(topicHeartbeat, EventHeartbeatFailed, string(answer), fmt.Sprintf("Hub %s takes no heartbeat, trying again: %v", server, err))
	}
}
