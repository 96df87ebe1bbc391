package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/names"
)

// act does what was decided. An error is of the agent's own cluster: the decision is made again later.
func (s *Supervisor) act(ctx context.Context, d Decision) error {
	if s.test != nil && s.test.key != s.held.key {
		s.test.stop()
		s.test = nil
	}
	if d.Test && s.test == nil && !s.Clock.Now().Before(s.held.testAt) {
		s.startTest(ctx)
	}
	switch d.Work {
	case Start:
		s.startWork(ctx)
	case Stop:
		s.stopWork()
	}
	switch d.Handshake {
	case Start:
		if err := s.startHandshake(ctx, d.Anew); err != nil {
			return err
		}
	case Stop:
		s.handshake.stop()
		s.handshake = nil
	}
	if d.DropBootstrap {
		return s.dropBootstrap(ctx)
	}
	return nil
}

// startWork runs the agent's work with the stored credential, unless it does already.
func (s *Supervisor) startWork(ctx context.Context) {
	key := s.held.key
	if s.work != nil && s.work.key == key {
		return
	}
	s.work.stop()
	s.work = nil
	session, err := s.held.stored.session(s.settings.TLSMode, s.UserAgent, s.fingerprint)
	if err != nil {
		s.stopWork()
		s.report.warning(topicCredential, EventCredentialInvalid, err.Error(), "The stored credential cannot be used: "+err.Error())
		return
	}
	server := s.held.stored.server
	events := Events{
		Refused: func() { offer(s.refused, key) },
		Renewed: func(token string) { offer(s.renewed, renewedToken{key: key, token: token}) },
		Failing: func(err error) { s.report.heartbeatFails(server, err) },
		Beating: func() { s.report.settled(topicHeartbeat) },
	}
	s.Metrics.Credential(session.Expires)
	s.work = launch(ctx, key, func(ctx context.Context) struct{} {
		defer session.Close()
		s.Work(ctx, session, events)
		return struct{}{}
	})
}

// stopWork ends the work, and with it the use of its credential.
func (s *Supervisor) stopWork() {
	s.work.stop()
	s.work = nil
	s.Metrics.Credential(time.Time{})
}

// offer hands a message over unless one is waiting already: whoever sends says it again.
func offer[T any](to chan<- T, message T) {
	select {
	case to <- message:
	default:
	}
}

type handshakeResult struct {
	id     string
	stored stored
	err    error
}

// startHandshake takes the place of one that is running.
func (s *Supervisor) startHandshake(ctx context.Context, anew bool) error {
	s.handshake.stop()
	s.handshake = nil
	if anew {
		if err := s.store.begin(ctx, attempt{}); err != nil {
			return err
		}
	}
	h := &handshake{
		order: s.bootstrap.order, store: s.store, report: s.report,
		self:      self{Hostname: s.Hostname, Version: s.Version},
		userAgent: s.UserAgent, pace: s.Pace, clock: s.Clock, random: s.Random, metrics: s.Metrics,
	}
	id := s.bootstrap.id
	s.handshake = launch(ctx, id, func(ctx context.Context) handshakeResult {
		c, err := h.run(ctx)
		return handshakeResult{id: id, stored: c, err: err}
	})
	return nil
}

func (s *Supervisor) handshakeEnded(ctx context.Context, result handshakeResult) {
	switch {
	case result.err == nil:
		s.unsaved, s.answered = &result.stored, result.id
	case ctx.Err() != nil:
	default:
		s.bootstrap.refused = result.id
		s.bootstrap.retryAt = s.Clock.Now().Add(pace.Jitter(s.Pace.RefusedRetry, s.Random))
		reason := EventRegistrationFailed
		if errors.Is(result.err, errTokenRefused) {
			reason = EventBootstrapRefused
		}
		s.report.warning(topicBootstrap, reason, result.id, fmt.Sprintf(
			"Secret %s/%s: %v; waiting for another, this one is tried again each %s",
			s.Namespace, names.AgentBootstrapSecret, result.err, s.Pace.RefusedRetry))
	}
}

// save stores a new credential that was tested. The one before stays until that write.
func (s *Supervisor) save(ctx context.Context) error {
	if s.unsaved == nil {
		return nil
	}
	c := *s.unsaved
	if err := s.store.saveCredential(ctx, c.data()); err != nil {
		return err
	}
	s.unsaved = nil
	s.take(c)
	s.report.settled(topicHandshake)
	s.report.normal(topicCredential, EventRegistered, s.held.key, fmt.Sprintf(
		"Registered as cluster %s/%s, whose namespace on the hub is %s", c.workspace, c.cluster, c.deploymentNamespace))
	return nil
}

// take makes a credential that was tested and stored the one that is held.
func (s *Supervisor) take(c stored) {
	s.held = s.newHeld(c.key(s.settings.TLSMode), CredentialWorks)
	s.held.stored = c
	s.report.settled(topicHeartbeat) // whatever kept the one before from it
}

// dropBootstrap forgets the request that has been answered, then deletes the secret that led to it. In this order: a crash
// in between finds the secret fulfilled, and comes here again.
func (s *Supervisor) dropBootstrap(ctx context.Context) error {
	if err := s.store.begin(ctx, attempt{}); err != nil {
		return err
	}
	return s.store.dropBootstrap(ctx, s.bootstrap.secret)
}
