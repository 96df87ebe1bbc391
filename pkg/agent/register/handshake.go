package register

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/registration"
)

// Ends of a request, or of a whole handshake.
var (
	// errTokenRefused ends the handshake: the hub has answered the bootstrap token with 401, and again.
	errTokenRefused = errors.New("the hub refuses the bootstrap token (401)")
	// errRequestGone, errNeverGranted, errUnanswered and registration.ErrNotForUs end a request; another one is made.
	errRequestGone  = errors.New("the request is gone from the hub: it was denied, has expired or was replaced by a newer one")
	errNeverGranted = errors.New("the hub will not grant this request, another is made")
	errUnanswered   = errors.New("the request was not answered in time")
	// errCredentialRefused says that a new credential does not do what it is for; it may be a moment early.
	errCredentialRefused = errors.New("the new credential cannot list bundledeployments on the hub")
)

// handshake gets one credential for one order. The only thing that it writes on the agent's own cluster is how far it has
// come.
type handshake struct {
	order     order
	store     *store
	report    *reporter
	self      self
	userAgent string
	pace      Pace
	clock     clock.Clock
	random    pace.Random
	metrics   *metrics.Metrics

	hub *hub.Client
	id  registration.Identity
}

// run asks until there is a credential that works. It gives up only if the bootstrap token is refused or the context
// ends.
func (h *handshake) run(ctx context.Context) (stored, error) {
	client, err := hub.Dial(h.order.kubeconfig, h.order.settings.TLSMode, h.userAgent)
	if err != nil {
		h.metrics.Handshake(metrics.Failed)
		return stored{}, err
	}
	h.hub = client
	defer client.Close()

	backoff := h.backoff()
	for {
		c, err := h.once(ctx)
		if err == nil || errors.Is(err, errTokenRefused) {
			return c, err
		}
		if ctx.Err() != nil {
			return stored{}, ctx.Err()
		}
		h.report.warning(topicHandshake, EventRegistrationFailed, err.Error(), "Registration starts over: "+err.Error())
		if err := pace.Sleep(ctx, h.clock, backoff.Next()); err != nil {
			return stored{}, err
		}
		if endsRequest(err) {
			if err := h.store.begin(ctx, attempt{}); err != nil {
				h.report.logged(topicLocal, "begin", err.Error())
			}
		}
	}
}

// once is one attempt, and counts how it ended.
func (h *handshake) once(ctx context.Context) (c stored, err error) {
	a, err := h.prepare(ctx)
	if err == nil {
		c, err = h.attempt(ctx, a)
	}
	if err == nil {
		h.metrics.Contact(h.clock.Now())
	}
	if err == nil || ctx.Err() == nil {
		h.metrics.Handshake(resultOf(err))
	}
	return c, err
}

func resultOf(err error) metrics.Result {
	switch {
	case err == nil:
		return metrics.Registered
	case errors.Is(err, errTokenRefused):
		return metrics.TokenRefused
	case errors.Is(err, errRequestGone):
		return metrics.RequestGone
	case errors.Is(err, errNeverGranted):
		return metrics.NeverGranted
	case errors.Is(err, errUnanswered):
		return metrics.Unanswered
	case errors.Is(err, registration.ErrNotForUs):
		return metrics.NotForUs
	}
	return metrics.Failed
}

// endsRequest says whether it is of no use to go on with the same request.
func endsRequest(err error) bool {
	for _, end := range []error{errRequestGone, errNeverGranted, errUnanswered, registration.ErrNotForUs} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// prepare takes up the request that was begun for this order, or writes down a new one. Only what is written down is
// sent: after a crash the same request goes on, and the hub sees one.
func (h *handshake) prepare(ctx context.Context) (attempt, error) {
	id, a, err := h.store.identity(ctx)
	if err != nil {
		return attempt{}, err
	}
	h.id = id
	if a.Order == h.order.digest && a.Request != "" && a.ClientRandom != "" {
		return a, nil
	}
	if a, err = newAttempt(rand.Reader, h.order.digest); err != nil {
		return attempt{}, err
	}
	return a, h.store.begin(ctx, a)
}

func newAttempt(random io.Reader, orderDigest string) (attempt, error) {
	name, err := registration.RequestName(random)
	if err != nil {
		return attempt{}, err
	}
	clientRandom, err := registration.Random(random)
	return attempt{Request: name, ClientRandom: clientRandom, Order: orderDigest}, err
}

// attempt sends the request, waits for its credential and proves that it works.
func (h *handshake) attempt(ctx context.Context, a attempt) (stored, error) {
	if err := h.send(ctx, a); err != nil {
		return stored{}, err
	}
	w := h.newWait(a)
	backoff := h.backoff()
	for {
		granted, err := w.credential(ctx)
		if err != nil {
			return stored{}, err
		}
		c, err := h.open(a, granted)
		if err != nil {
			return stored{}, err
		}
		if err = h.prove(ctx, c); !errors.Is(err, errCredentialRefused) {
			return c, err
		}
		// The hub repairs what it granted, and may make another credential for the same request.
		h.report.warning(topicHandshake, EventRegistrationFailed, err.Error(), err.Error())
		if err := pace.Sleep(ctx, h.clock, backoff.Next()); err != nil {
			return stored{}, err
		}
		if err := w.look(ctx); err != nil {
			return stored{}, err
		}
	}
}

// open takes the token out of a granted credential.
func (h *handshake) open(a attempt, granted registration.Credential) (stored, error) {
	token := granted.Token
	if granted.SealedToken != "" {
		var err error
		if token, err = h.id.Open(binding(h.order, a, h.id, granted.HubUID), granted.SealedToken); err != nil {
			return stored{}, fmt.Errorf("credential for request %s/%s: %w", h.order.ClusterNamespace, a.Request, err)
		}
	}
	c, err := newStored(h.order, granted, token)
	if err != nil {
		return stored{}, fmt.Errorf("credential for request %s/%s: %w", h.order.ClusterNamespace, a.Request, err)
	}
	return c, nil
}

// prove tests a credential. Its permissions may take a moment to be in force; a hub that does not answer is waited for.
func (h *handshake) prove(ctx context.Context, c stored) error {
	session, err := c.session(h.order.settings.TLSMode, h.userAgent, "")
	if err != nil {
		return err
	}
	defer session.Close()
	backoff := pace.Backoff{First: h.pace.PollFirst, Max: h.pace.PollMax, Random: h.random}
	var refusedSince time.Time
	for {
		err := session.Test(ctx, c.deploymentNamespace)
		switch hub.AnswerOf(err) {
		case hub.OK:
			return nil
		case hub.Unreachable:
			h.unreachable(err)
		default:
			now := h.clock.Now()
			if refusedSince.IsZero() {
				refusedSince = now
			}
			if now.Sub(refusedSince) >= h.pace.ProveFor {
				return fmt.Errorf("%w: %w", errCredentialRefused, err)
			}
		}
		if err := pace.Sleep(ctx, h.clock, backoff.Next()); err != nil {
			return err
		}
	}
}

func (h *handshake) backoff() *pace.Backoff {
	return &pace.Backoff{First: h.pace.RetryFirst, Max: h.pace.RetryMax, Random: h.random}
}

// unreachable reports a hub that does not answer.
func (h *handshake) unreachable(err error) {
	h.report.unreachable(topicHandshake, h.order.APIServerURL, err)
}
