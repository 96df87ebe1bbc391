package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
)

type testResult struct {
	key   string
	state CredentialState
	err   error
}

// startTest tries the stored credential.
func (s *Supervisor) startTest(ctx context.Context) {
	key, c, mode := s.held.key, s.held.stored, s.settings.TLSMode
	s.test = launch(ctx, key, func(ctx context.Context) testResult {
		state, err := s.try(ctx, c, mode)
		return testResult{key: key, state: state, err: err}
	})
}

// try asks the hub. A refusal is believed when it is repeated: 401 after a second, 403 when permissions that were being
// granted or repaired would be in force.
func (s *Supervisor) try(ctx context.Context, c stored, tlsMode string) (CredentialState, error) {
	session, err := c.session(tlsMode, s.UserAgent, "")
	if err != nil {
		return CredentialUnreachable, err
	}
	defer session.Close()
	doubt := doubt{confirm: s.Pace.Confirm}
	backoff := pace.Backoff{First: s.Pace.RetryFirst, Max: s.Pace.PollMax, Random: s.Random}
	var forbiddenSince time.Time
	for {
		err := session.Test(ctx, c.deploymentNamespace)
		answer, now := hub.AnswerOf(err), s.Clock.Now()
		if doubt.settled(answer, now) {
			return CredentialRefused, err
		}
		pause := backoff.Next()
		switch answer {
		case hub.OK:
			return CredentialWorks, nil
		case hub.Unauthorized:
			pause = s.Pace.Confirm
		case hub.Forbidden:
			if forbiddenSince.IsZero() {
				forbiddenSince = now
			}
			if now.Sub(forbiddenSince) >= s.Pace.ProveFor {
				return CredentialRefused, err
			}
		default:
			return CredentialUnreachable, err
		}
		if err := pace.Sleep(ctx, s.Clock, pause); err != nil {
			return CredentialUnreachable, err
		}
	}
}

// tested notes what became of a test, and when the next one is due.
func (s *Supervisor) tested(result testResult) {
	if result.key != s.held.key {
		return
	}
	s.held.state = result.state
	s.held.testAt = time.Time{}
	where := fmt.Sprintf("cluster %s/%s", s.held.stored.workspace, s.held.stored.cluster)
	switch result.state {
	case CredentialWorks:
		s.held.backoff.Reset()
		s.report.logged(topicCredential, result.key, "The stored credential of "+where+" works")
		return
	case CredentialRefused:
		s.report.warning(topicCredential, EventCredentialRefused, result.key, fmt.Sprintf(
			"The hub refuses the stored credential of %s: %v", where, result.err))
	default:
		s.report.warning(topicCredential, EventHubUnreachable, result.key, fmt.Sprintf(
			"The stored credential of %s is kept, the hub cannot be reached: %v", where, result.err))
	}
	s.held.testAt = s.Clock.Now().Add(s.held.backoff.Next())
}

// suspect takes up that the hub has refused a call with the credential of that key.
func (s *Supervisor) suspect(key string) {
	if key == s.held.key && s.held.state == CredentialWorks {
		s.held.state, s.held.testAt = CredentialUntested, time.Time{}
	}
}

// renewedToken is a token that is to follow the credential of that key.
type renewedToken struct{ key, token string }

type renewalResult struct {
	key    string
	stored stored
	err    error
}

// renew tests a token that the hub made to follow the one in use.
func (s *Supervisor) renew(ctx context.Context, next renewedToken) {
	if next.key != s.held.key || s.renewal != nil {
		return
	}
	current, mode := s.held.stored, s.settings.TLSMode
	s.renewal = launch(ctx, next.key, func(ctx context.Context) renewalResult {
		c, err := current.withToken(next.token)
		if err != nil {
			return renewalResult{key: next.key, err: err}
		}
		state, err := s.try(ctx, c, mode)
		if err == nil && state != CredentialWorks {
			err = errors.New(string(state))
		}
		return renewalResult{key: next.key, stored: c, err: err}
	})
}

// renewalTested stores the token that follows. One that does not work is left where it is; the next beat brings it again.
func (s *Supervisor) renewalTested(ctx context.Context, result renewalResult) {
	if result.key != s.held.key || ctx.Err() != nil {
		return
	}
	err := result.err
	if err == nil {
		err = s.store.saveCredential(ctx, result.stored.data())
	}
	if err != nil {
		s.report.warning(topicRenewal, EventCredentialInvalid, result.key, fmt.Sprintf("The renewed credential is not taken up yet: %v", err))
		return
	}
	s.take(result.stored)
	s.report.normal(topicRenewal, EventCredentialRenewed, s.held.key, fmt.Sprintf(
		"The credential of cluster %s/%s was renewed", s.held.stored.workspace, s.held.stored.cluster))
}
