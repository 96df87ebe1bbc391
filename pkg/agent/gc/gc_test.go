package gc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/helmdeployer"
)

// soon is several times what anything here takes.
const soon = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what a collector sees, and what it asked for.
type world struct {
	mu       sync.Mutex
	deployed []string
	known    map[string]bool
	blind    bool
	broken   error
	interval time.Duration
	lists    int
	looks    [][]string

	clock *clocktesting.FakeClock
	wake  chan struct{}
}

func start(t *testing.T, w *world) *world {
	t.Helper()
	w.clock, w.wake = clocktesting.NewFakeClock(time.Now()), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Config{
			List: w.list, Unknown: w.unknown, Look: w.look, Wake: w.wake, Clock: w.clock, Random: func() float64 { return 0.5 },
			Interval: func(context.Context) time.Duration { return w.interval },
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	w.idle(t)
	return w
}

// idle waits until the collector waits.
func (w *world) idle(t *testing.T) {
	t.Helper()
	require.Eventually(t, w.clock.HasWaiters, soon, time.Millisecond)
}

func (w *world) list(context.Context) (out []helmdeployer.Deployed, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists++
	for _, name := range w.deployed {
		out = append(out, helmdeployer.Deployed{BundleID: name})
	}
	return out, w.broken
}

func (w *world) unknown(names []string) (out []string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		if !w.known[name] {
			out = append(out, name)
		}
	}
	return out, !w.blind
}

func (w *world) look(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, names)
}

func (w *world) looked() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([][]string(nil), w.looks...)
}

func (w *world) listed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists
}

func (w *world) change(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// The reference ends a round with the first orphan.
func TestAllOrphansAreFoundInOnePass(t *testing.T) {
	w := &world{known: map[string]bool{"kept": true}, deployed: []string{"kept", "kept"}}
	for i := range 20 {
		w.deployed = append(w.deployed, fmt.Sprintf("orphan-%02d", i))
	}
	start(t, w)
	require.Len(t, w.looked(), 1)
	assert.Len(t, w.looked()[0], 20)
	assert.NotContains(t, w.looked()[0], "kept")
}

// X07: what is not known is not looked at.
func TestNothingIsLookedAtBeforeTheHubIsKnown(t *testing.T) {
	w := start(t, &world{blind: true, deployed: []string{"orphan"}})
	assert.Empty(t, w.looked())
	assert.Zero(t, w.listed(), "nor is it read")
	w.change(func() { w.blind = false })
	w.wake <- struct{}{}
	require.Eventually(t, func() bool { return len(w.looked()) == 1 }, soon, time.Millisecond)
}

func TestTheIntervalIsHonouredAndHasADefault(t *testing.T) {
	for configured, first := range map[time.Duration]time.Duration{time.Minute: 90 * time.Second, 0: 22*time.Minute + 30*time.Second} {
		w := start(t, &world{interval: configured, deployed: []string{"orphan"}})
		require.Len(t, w.looked(), 1, "at start")
		w.clock.Step(first - time.Millisecond)
		w.idle(t)
		assert.Len(t, w.looked(), 1)
		w.clock.Step(time.Millisecond)
		require.Eventually(t, func() bool { return len(w.looked()) == 2 }, soon, time.Millisecond)
	}
}

func TestAListThatFailsIsTriedAgain(t *testing.T) {
	w := start(t, &world{broken: errors.New("no answer"), deployed: []string{"orphan"}})
	assert.Empty(t, w.looked())
	w.change(func() { w.broken = nil })
	w.clock.Step(2 * retryFirst)
	require.Eventually(t, func() bool { return len(w.looked()) == 1 }, soon, time.Millisecond)
}
