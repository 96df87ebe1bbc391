// Package registration_test proves on real control planes what registration promises: which objects there are,
// that they go away again, that nothing is written when nothing changes, and that both Kubernetes lines work.
//
// Three beds are shared by the tests, each started by the first test that needs it: the world (a hub with its local
// cluster, one that the hub imports, one that joins by itself), the yard (a hub whose clusters come and go), and an API
// server with nothing but the CRDs.
package registration_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	// leaving bounds how long objects of a deleted Cluster may stay.
	leaving = time.Minute
	// betweenSnapshots is the pause between two looks at all objects of an API server, which keep it busy.
	betweenSnapshots = 300 * time.Millisecond
	// stillness is how long nothing new must come until a control plane counts as complete.
	stillness = time.Second
	// grace is how long a process may take to end.
	grace = 20 * time.Second
	// heartbeat is short, so that what follows from it follows in seconds; three missed ones are silence, which a busy
	// machine must not bring about.
	heartbeat = "3s"
)

// election lets a new leader take over in seconds, and leaves room for a machine that is busy.
var election = stage.Election(8*time.Second, 6*time.Second, 500*time.Millisecond)

// repository is the root of the checkout. Where there is none, stage.Main says so and runs no test.
var repository, _ = lab.FindRoot()

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// reduced picks between the plain and the full amount, and says what is left out.
func reduced[T any](t *testing.T, what string, plain, whole T) T {
	t.Helper()
	return stage.Reduced(t, what, plain, whole)
}

// until is a context for one wait.
func until(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	return stage.Until(t, limit)
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
