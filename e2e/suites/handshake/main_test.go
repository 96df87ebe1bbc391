// Package handshake kills controller and agents at every write of the handshake, in all ways of joining, and lets the
// handshake run against everything else that may come between: many at once, servers that restart, any order of starts.
// Each test is named after the behaviour that is wanted; the number of the case stands in its comment.
package handshake

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// heartbeat is short: what a killed hub was about to conclude from one, its successor concludes from the next.
	heartbeat       = "3s"
	heartbeatLength = 3 * time.Second
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	grace    = 30 * time.Second
)

// election of agents: another one takes over in seconds, with room for a machine that is busy. The controller keeps the
// product's own times; one that was killed comes back under its name, as a container does, and leads at once.
var election = stage.Election(8*time.Second, 6*time.Second, time.Second)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// full says whether everything runs at its full count.
func full() bool { return stage.Full() }

// reduced picks between the plain and the full amount, and says what is left out.
func reduced(t *testing.T, what string, plain, whole int) int {
	t.Helper()
	return stage.Reduced(t, what, plain, whole)
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
