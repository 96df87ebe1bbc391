package provenance

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/registration"
)

// limit is several times what any wait in these tests takes.
const limit = 20 * time.Second

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

// fakeServer answers as it is told.
type fakeServer struct {
	lock  sync.Mutex
	seen  observation
	looks int
}

func (s *fakeServer) is(seen observation) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.seen = seen
}

func (s *fakeServer) now() (observation, int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.seen, s.looks
}

func (s *fakeServer) served(context.Context) (bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.looks++
	return s.seen.served, nil
}

func (s *fakeServer) missing(context.Context) (string, error) {
	seen, _ := s.now()
	return seen.missing, seen.failure
}

func (s *fakeServer) try(context.Context) (error, error) {
	seen, _ := s.now()
	return seen.answer, nil
}

// world is a proof that runs.
type world struct {
	*Proof
	t      *testing.T
	server *fakeServer
	clock  *clocktesting.FakeClock
	told   []bool
	// announced are the types of the Events.
	announced []string
	news      chan registration.Provenance
	changed   func()
	watches   int
}

func run(t *testing.T, seen observation) *world {
	t.Helper()
	w := &world{t: t, server: &fakeServer{seen: seen}, clock: clocktesting.NewFakeClock(time.Now()), news: make(chan registration.Provenance, 10)}
	w.Proof = newProof(w.server, w.clock, func(enforced bool) { w.told = append(w.told, enforced) }, w.tell, func(_ context.Context, changed func()) {
		w.changed = changed
		w.watches++
	})
	w.Subscribe(func() { w.news <- w.Current() })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return w
}

// tell is for the Events, which have a test of their own.
func (w *world) tell(before, found registration.Provenance) {
	if eventType, _, _ := announcement(before, found); eventType != "" {
		w.announced = append(w.announced, eventType)
	}
}

// next is what is told next.
func (w *world) next() registration.Provenance {
	w.t.Helper()
	select {
	case found := <-w.news:
		return found
	case <-time.After(limit):
		require.FailNow(w.t, "nothing was told")
		return registration.Provenance{}
	}
}

// rests waits until there were so many looks and the next is waited for.
func (w *world) rests(looks int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		_, n := w.server.now()
		return n == looks && w.clock.HasWaiters()
	}, limit, time.Millisecond)
}

func TestTheProofFollowsThePolicy(t *testing.T) {
	good := observation{served: true, answer: refusal()}
	w := run(t, good)
	assert.True(t, w.next().Enforced())
	w.rests(1)

	w.server.is(observation{served: true, missing: "ValidatingAdmissionPolicyBinding"})
	w.changed()
	assert.Equal(t, registration.ProvenanceNotInstalled, w.next().Reason, "at once")
	w.rests(2)
	w.server.is(good)
	w.changed()
	assert.True(t, w.next().Enforced(), "and at once again")
	w.rests(3)
	assert.Equal(t, []bool{true, false, true}, w.told)
	assert.Equal(t, []string{"Warning", "Normal"}, w.announced)
	assert.Equal(t, 1, w.watches)
}

func TestTheProofIsMadeAnewEveryHour(t *testing.T) {
	w := run(t, observation{served: true, answer: refusal()})
	assert.True(t, w.next().Enforced())
	w.rests(1)
	w.clock.Step(time.Hour)
	w.rests(2)
	assert.Empty(t, w.news, "the same is no news")
	w.server.is(observation{served: true})
	w.clock.Step(time.Hour)
	assert.Equal(t, registration.ProvenanceNotInForce, w.next().Reason)
}

func TestNothingIsKnownUntilTheServerAnswers(t *testing.T) {
	w := run(t, observation{served: true, failure: errors.New("connection refused")})
	w.rests(1)
	assert.False(t, w.Current().Known())
	w.server.is(observation{})
	w.clock.Step(soon[0])
	assert.Equal(t, registration.ProvenanceNotServed, w.next().Reason)
	assert.Equal(t, 1, w.watches, "it was served at first")
}
