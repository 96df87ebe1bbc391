// Package cases replays, on real control planes, what breaks for users of systems that register clusters. Each test is
// named after the behaviour that is wanted; the number of the case stands in its comment.
package cases

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// heartbeat is short, so that silence shows in seconds; three of them are the grace.
	heartbeat = "2s"
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	// window is how long nothing must happen where a test says so.
	window = 5 * time.Second
	grace  = 30 * time.Second
)

// election makes a new leader take over in seconds, and leaves room for a machine that is busy.
var election = stage.Election(8*time.Second, 6*time.Second, time.Second)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// times is how often a test repeats itself; it says what it leaves out.
func times(t *testing.T, plain, whole int) int {
	t.Helper()
	return stage.Reduced(t, "rounds:", plain, whole)
}

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	return stage.Until(t, patience)
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
