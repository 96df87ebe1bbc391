package register

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/registration"
)

// send creates the request. That it exists already is how a resumed handshake finds it.
func (h *handshake) send(ctx context.Context, a attempt) error {
	req := request(h.order, a, h.id, h.self)
	if err := registration.ValidateRequest(req); err != nil {
		return fmt.Errorf("the request cannot be sent, see ConfigMap fleet-agent: %w", err)
	}
	h.report.normal(topicHandshake, EventRegistering, a.Request, fmt.Sprintf(
		"Registering with hub %s as request %s/%s", h.order.APIServerURL, h.order.ClusterNamespace, a.Request))
	backoff := h.backoff()
	doubt := doubt{confirm: h.pace.Confirm}
	for {
		pause := backoff.Next()
		err := h.hub.CreateRequest(ctx, req)
		answer := hub.AnswerOf(err)
		if doubt.settled(answer, h.clock.Now()) {
			return errTokenRefused
		}
		switch answer {
		case hub.OK, hub.Exists:
			return nil
		case hub.Unauthorized:
			pause = h.pace.Confirm
		case hub.Unreachable:
			if ctx.Err() == nil {
				h.unreachable(err)
			}
		default:
			h.report.warning(topicHandshake, EventRegistrationFailed, err.Error(), fmt.Sprintf(
				"cannot create clusterregistration on management cluster for cluster id '%s', trying again: %v", h.order.clientID, err))
		}
		if err := pace.Sleep(ctx, h.clock, pause); err != nil {
			return err
		}
	}
}

// doubt is about a 401: it is believed when it comes again, at least confirm after the first, with no other answer of the
// hub in between.
type doubt struct {
	confirm time.Duration
	since   time.Time
}

// settled notes an answer and says whether a refusal is certain now.
func (d *doubt) settled(answer hub.Answer, now time.Time) bool {
	switch answer {
	case hub.Unauthorized:
		if d.since.IsZero() {
			d.since = now
			return false
		}
		return now.Sub(d.since) >= d.confirm
	case hub.Unreachable:
		// Nobody who knows the token has spoken.
	default:
		d.since = time.Time{}
	}
	return false
}
