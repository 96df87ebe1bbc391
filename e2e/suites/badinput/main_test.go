// Package badinput_test gives a hub and agents what people, other programs and half-finished upgrades give them: missing,
// half-written, malformed, huge and foreign input. Each row of its tables is one such input. It has to end in a condition
// or an error that names the object, the field and the way out; in no panic and in no hot loop, which is counted; and it
// has to heal when the input does.
//
// All rows share one hub and one downstream cluster. The hub's controller reaches its API server through a shim, which
// knows of every request what object it was about.
package badinput_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// heartbeat is short, so that what follows from it follows in seconds.
	heartbeat = "2s"
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 2 * time.Minute
	// window is how long requests are counted where a test says that there is no hot loop.
	window = 6 * time.Second
	// grace is how long a process may take to end.
	grace = 30 * time.Second
	// marker stands in credentials. Nothing that people read may repeat it.
	marker = "VERY-SECRET-VALUE"
)

// election looks often, so that a process that ends in order is followed at once, and leaves much room for a machine that is
// busy: nobody crashes here.
var election = stage.Election(60*time.Second, 50*time.Second, time.Second)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// full says whether everything runs at its full count.
func full() bool { return stage.Full() }

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
