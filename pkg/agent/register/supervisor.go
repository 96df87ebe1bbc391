package register

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/pace"
)

// Config is what a Supervisor works with.
type Config struct {
	// Client is of the agent's own cluster, Namespace the agent's.
	Client    kubernetes.Interface
	Namespace string
	// Hostname and Version are told to the hub.
	Hostname, Version string
	// UserAgent goes with every call to the hub.
	UserAgent string
	// Recorder writes Events about the object About.
	Recorder record.EventRecorder
	About    runtime.Object
	// Work is what the agent does with a credential. It runs until its context ends; there is one at a time. It is started
	// anew with a session of its own whenever another credential is to be used.
	Work func(ctx context.Context, session hub.Session, events Events)
	// Metrics are nil where nothing is counted.
	Metrics *metrics.Metrics

	Pace   Pace
	Clock  clock.WithTicker
	Random pace.Random
}

// Events is how Work tells the supervisor what it learns of the credential. The functions do not block.
type Events struct {
	// Refused says that the hub has answered 401.
	Refused func()
	// Renewed brings a token that follows the one in use.
	Renewed func(token string)
	// Failing says why the hub hears nothing of this agent; Beating, that it does again.
	Failing func(err error)
	Beating func()
}

// Supervisor keeps the agent registered.
type Supervisor struct {
	Config
	store  *store
	report *reporter

	clusterUID, fingerprint string
	// identified says that the key was looked at.
	identified bool

	// What was observed last. The settings are nil until there were some that can be read.
	settings  *settings
	held      held
	bootstrap bootstrap
	// answered is the id of the bootstrap secret for which the credential was got, or tried again.
	answered string
	// unsaved is a new credential that the agent's own cluster did not yet take.
	unsaved *stored

	// What is under way.
	handshake *job[handshakeResult]
	test      *job[testResult]
	renewal   *job[renewalResult]
	work      *job[struct{}]

	changed chan struct{}
	refused chan string
	renewed chan renewedToken
	// lookAgain is when to look without a change, after the agent's own cluster has failed to answer; zero means never.
	lookAgain time.Time
	trouble   pace.Backoff
}

// NewSupervisor needs every field of the configuration but Metrics, Pace, Clock and Random.
func NewSupervisor(c Config) *Supervisor {
	c.Pace = c.Pace.withDefaults()
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return &Supervisor{
		Config:  c,
		store:   &store{client: c.Client, namespace: c.Namespace},
		report:  newReporter(c.Recorder, c.About),
		changed: make(chan struct{}, 1),
		refused: make(chan string, 1),
		renewed: make(chan renewedToken, 1),
		trouble: pace.Backoff{First: c.Pace.RetryFirst, Max: c.Pace.RetryMax, Random: c.Random},
	}
}

// Run works until the context ends, and returns when everything that it started has ended.
func (s *Supervisor) Run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return nil
	}
	s.trouble.Reset()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watchErr := make(chan error, 1)
	watching.Go(func() {
		if err := watchChanges(ctx, s.Client, s.Namespace, s.wake); err != nil {
			watchErr <- err
		}
	})
	defer watching.Wait()
	defer cancel()
	defer s.stopAll()
	for {
		s.step(ctx)
		if err := s.await(ctx, watchErr); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// prepare learns what does not change: which cluster this is.
func (s *Supervisor) prepare(ctx context.Context) error {
	for {
		uid, err := s.store.clusterUID(ctx)
		if err == nil {
			s.clusterUID = uid
			return nil
		}
		if ctx.Err() == nil {
			s.report.logged(topicLocal, err.Error(), fmt.Sprintf("The agent's own cluster fails, trying again: %v", err))
		}
		if err := pace.Sleep(ctx, s.Clock, s.trouble.Next()); err != nil {
			return err
		}
	}
}

// identify learns by which key the hub knows this cluster. The key is made once there is something to use it for: an agent
// that was started in a wrong namespace leaves none there. A damaged key does not keep a credential from being used.
func (s *Supervisor) identify(ctx context.Context, snap snapshot) error {
	if s.identified {
		return nil
	}
	id, known, err := s.store.knownIdentity(ctx)
	if err == nil && !known && (snap.bootstrap != nil || snap.credential != nil) {
		id, _, err = s.store.identity(ctx)
		known = true
	}
	switch {
	case isDamaged(err):
		s.report.warning(topicKey, EventConfigInvalid, err.Error(), err.Error())
		s.identified = true
		return nil
	case err != nil || !known:
		return err
	}
	s.fingerprint, s.identified = id.Fingerprint(), true
	// Who approves a request on the hub compares this with what the hub shows.
	s.report.logged(topicKey, s.fingerprint, fmt.Sprintf("This agent's key has the fingerprint %s", s.fingerprint))
	return nil
}

// wake makes the supervisor look.
func (s *Supervisor) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// await returns when there is something to look at, having taken in what was reported.
func (s *Supervisor) await(ctx context.Context, watchErr <-chan error) error {
	timer := s.Clock.NewTimer(s.untilDue())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case err := <-watchErr:
		return err
	case <-s.changed:
	case <-timer.C():
	case result := <-s.handshake.result():
		s.handshake = nil
		s.handshakeEnded(ctx, result)
	case result := <-s.test.result():
		s.test = nil
		s.tested(result)
	case result := <-s.renewal.result():
		s.renewal = nil
		s.renewalTested(ctx, result)
	case key := <-s.refused:
		s.suspect(key)
	case token := <-s.renewed:
		s.renew(ctx, token)
	}
	return nil
}

// farAway is how long to wait where only an event ends the wait.
const farAway = time.Hour

// untilDue is how long to wait for the next thing that time alone brings about.
func (s *Supervisor) untilDue() time.Duration {
	wait := farAway
	now := s.Clock.Now()
	due := []time.Time{s.lookAgain, s.bootstrap.retryAt}
	if s.test == nil {
		due = append(due, s.held.testAt)
	}
	for _, at := range due {
		if !at.IsZero() {
			wait = min(wait, max(0, at.Sub(now)))
		}
	}
	return wait
}

// stopAll ends everything that runs, the work last: it is what others see of us.
func (s *Supervisor) stopAll() {
	s.handshake.stop()
	s.test.stop()
	s.renewal.stop()
	s.work.stop()
}
