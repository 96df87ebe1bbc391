// Package telemetry_test proves on a real control plane what registration tells people and programs: a cluster joins, a
// person denies and approves, the hub restarts, and Events and figures of hub and agent show it.
package telemetry_test

import (
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	// grace is how long a process may take to end.
	grace = 30 * time.Second
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
