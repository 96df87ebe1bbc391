package ready

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/agent/register"
)

// soon is several times what anything here takes.
const soon = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatMakesAPodReady(t *testing.T) {
	fails := errors.New("dial tcp: refused")
	for name, test := range map[string]struct {
		state register.CredentialState
		err   error
		ready bool
		why   string
	}{
		"the hub takes the credential":   {register.CredentialWorks, nil, true, "takes"},
		"the hub refuses it":             {register.CredentialRefused, errors.New("401"), true, "refuses"},
		"there is none":                  {register.CredentialAbsent, nil, true, "no stored credential"},
		"the hub does not answer":        {register.CredentialUnreachable, fails, false, "the hub cannot be reached: dial tcp: refused"},
		"it cannot be read":              {register.CredentialUnusable, fails, false, "cannot be used"},
		"nobody knows whether there is":  {"", fails, false, "own cluster"},
		"a state that nobody knows here": {"other", nil, false, "own cluster"},
	} {
		ready, why := verdict(test.state, test.err)
		assert.Equal(t, test.ready, ready, name)
		assert.Contains(t, why, test.why, name)
	}
}

// waiting is a pod that waits to be ready, on a clock that stands.
type waiting struct {
	t     *testing.T
	latch *Latch
	clock *clocktesting.FakeClock
	says  chan register.CredentialState
	done  chan struct{}
}

func start(t *testing.T, dir string) *waiting {
	w := &waiting{
		t: t, latch: At(dir), clock: clocktesting.NewFakeClock(time.Now()), done: make(chan struct{}),
		says: make(chan register.CredentialState),
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(w.done)
		Await(ctx, Config{
			Latch: w.latch, Clock: w.clock, Random: func() float64 { return 0.5 },
			Ask: func(ctx context.Context) (register.CredentialState, error) {
				select {
				case state := <-w.says:
					return state, errors.New("says the test")
				case <-ctx.Done():
					return "", ctx.Err()
				}
			},
		})
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}

func (w *waiting) ended() bool {
	select {
	case <-w.done:
		return true
	case <-time.After(soon):
		return false
	}
}

func TestAPodIsReadyOnceTheHubAnswersAndStaysSo(t *testing.T) {
	dir := t.TempDir()
	w := start(t, dir)
	assert.ErrorContains(t, At(dir).Check(), "the agent starts")
	for range 3 {
		w.says <- register.CredentialUnreachable
		require.Eventually(t, w.clock.HasWaiters, soon, time.Millisecond)
		assert.ErrorContains(t, At(dir).Check(), HubUnreachable)
		w.clock.Step(longestRetry)
	}
	w.says <- register.CredentialWorks
	require.True(t, w.ended())
	assert.NoError(t, At(dir).Check())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing is left of the wait")

	// The next container of the pod finds the latch: it asks nobody, whatever became of the hub.
	assert.True(t, start(t, dir).ended())
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	w := start(t, t.TempDir())
	w.says <- register.CredentialUnreachable
	require.Eventually(t, w.clock.HasWaiters, soon, time.Millisecond)
	assert.False(t, w.latch.IsSet())
}

func TestAPodThatCannotSayThatItIsReadyTriesAgain(t *testing.T) {
	dir := t.TempDir() + "/later"
	w := start(t, dir)
	w.says <- register.CredentialAbsent
	require.Eventually(t, w.clock.HasWaiters, soon, time.Millisecond)
	require.NoError(t, os.Mkdir(dir, 0o700))
	w.clock.Step(longestRetry)
	w.says <- register.CredentialAbsent
	require.True(t, w.ended())
	assert.NoError(t, At(dir).Check())
}

// What a hub says is shown by the kubelet, in an Event.
func TestWhyAPodWaitsIsBoundedAndPrintable(t *testing.T) {
	l := At(t.TempDir())
	require.NoError(t, l.Waits("\x1b[31m\n"+strings.Repeat("é", 2*maxWhy)))
	why := l.Check().Error()
	assert.LessOrEqual(t, len([]rune(why)), maxWhy)
	assert.NotContains(t, why, "\x1b")
	assert.NotContains(t, why, "\n")
}
