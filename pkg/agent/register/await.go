package register

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// wait is for the credential of one request.
type wait struct {
	*handshake
	attempt attempt
	since   time.Time
	// lookAt is when the request itself is read next, held whether the hub has said that it will not grant it for now.
	lookAt time.Time
	held   bool
	doubt  doubt
}

func (h *handshake) newWait(a attempt) *wait {
	now := h.clock.Now()
	return &wait{handshake: h, attempt: a, since: now, lookAt: now.Add(h.pace.LookEvery), doubt: doubt{confirm: h.pace.Confirm}}
}

// credential asks for the Secret until it is there: the first answer that is not 403 is the credential, since the hub
// writes it before it lets the import account read it.
func (w *wait) credential(ctx context.Context) (registration.Credential, error) {
	namespace := w.order.SystemRegistrationNamespace
	name := names.CredentialSecret(w.order.clientID, w.attempt.ClientRandom)
	poll := pace.Poll{First: w.pace.PollFirst, Max: w.pace.PollMax, Random: w.random}
	retry := w.backoff()
	if err := pace.Sleep(ctx, w.clock, poll.Next()); err != nil { // nobody grants faster than that
		return registration.Credential{}, err
	}
	for {
		secret, err := w.hub.Secret(ctx, namespace, name)
		answer := hub.AnswerOf(err)
		if answer == hub.OK {
			c, err := registration.ParseCredential(secret.Data)
			if err == nil {
				return c, nil
			}
			w.report.warning(topicHandshake, EventRegistrationFailed, err.Error(), fmt.Sprintf("Secret %s/%s on the hub: %v", namespace, name, err))
		}
		if w.doubt.settled(answer, w.clock.Now()) {
			return registration.Credential{}, errTokenRefused
		}
		pause := poll.Next()
		switch answer {
		case hub.Unreachable:
			if ctx.Err() == nil {
				w.unreachable(err)
			}
			pause = retry.Next()
		case hub.Unauthorized:
			pause = w.pace.Confirm
		default:
			retry.Reset()
			if err := w.look(ctx); err != nil {
				return registration.Credential{}, err
			}
		}
		if err := pace.Sleep(ctx, w.clock, pause); err != nil {
			return registration.Credential{}, err
		}
	}
}

// look reads the request now and then, tells what the hub says of it, and ends a wait that has no end.
func (w *wait) look(ctx context.Context) error {
	now := w.clock.Now()
	if now.Before(w.lookAt) {
		return nil
	}
	w.lookAt = now.Add(w.pace.LookEvery)
	req, err := w.hub.Request(ctx, w.order.ClusterNamespace, w.attempt.Request)
	switch hub.AnswerOf(err) {
	case hub.OK:
		if err := w.tell(req); err != nil {
			return err
		}
	case hub.Missing:
		return errRequestGone
	}
	if !w.held && now.Sub(w.since) >= w.pace.Patience {
		return fmt.Errorf("request %s/%s: %w (%s)", w.order.ClusterNamespace, w.attempt.Request, errUnanswered, w.pace.Patience)
	}
	return nil
}

// tell reports why the request is not granted. A hub that has said so will answer: no other request is made meanwhile,
// somebody may be about to approve this one. What the hub will never grant is ended instead.
func (w *wait) tell(req *fleet.ClusterRegistration) error {
	granted := conditions.GetCondition(req.Status.Conditions, fleet.RegistrationConditionGranted)
	w.held = granted != nil && granted.Status == corev1.ConditionFalse
	switch {
	case w.held && registration.IsFinal(granted.Reason):
		return fmt.Errorf("%w: %s: %s", errNeverGranted, granted.Reason, granted.Message)
	case w.held:
		w.report.warning(topicHandshake, EventRegistrationWaiting, granted.Reason+granted.Message, fmt.Sprintf(
			"Request %s/%s is not granted: %s: %s", req.Namespace, req.Name, granted.Reason, granted.Message))
	case granted != nil || req.Status.Granted:
		w.report.logged(topicHandshake, "granted", fmt.Sprintf(
			"Request %s/%s is granted, waiting for the credential", req.Namespace, req.Name))
	}
	return nil
}
