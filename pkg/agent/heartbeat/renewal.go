package heartbeat

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// lookForRenewal reads the next credential when the one in use is due. The agent may get that Secret by its name and no
// more, so a beat is when it looks.
func (b *beat) lookForRenewal(ctx context.Context) {
	if !due(b.session, b.options.Clock.Now()) {
		return
	}
	secret, err := b.session.Secret(ctx, b.session.DeploymentNamespace, names.RenewedCredentialSecret)
	switch answer := hub.AnswerOf(err); {
	case answer == hub.Missing, ctx.Err() != nil:
		// The hub has not made it yet.
		return
	case answer != hub.OK:
		b.renewal.failed(fmt.Errorf("Secret %s/%s: %w", b.session.DeploymentNamespace, names.RenewedCredentialSecret, err))
		return
	}
	b.renewal.passed()
	token := string(secret.Data[registration.KeyToken])
	if token == "" || registration.Digest(token) == b.session.Digest {
		return
	}
	b.listener.Renewed(token)
}

// due says whether a third or less of the credential's life is left. A credential without an end is never due.
func due(session hub.Session, now time.Time) bool {
	at := registration.RenewalDue(session.IssuedAt, session.Expires)
	return !at.IsZero() && !now.Before(at)
}
