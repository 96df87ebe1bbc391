// Package bundles_test proves on a real control plane what the hub makes of bundles: that they reach the clusters that they
// target and leave them again, in how many writes, and that nothing is written when nothing changes. The agents are played:
// they apply whatever they are told.
package bundles_test

import (
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

// patience bounds a wait; it is several times what is expected on an idle machine.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
