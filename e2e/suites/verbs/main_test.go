// Package verbs walks through the commands that people type, on a real hub and with real agents: a cluster joins, is
// explained, is claimed by another, and is decided about. The hub is also the cluster that joins, in a namespace for each
// agent; the suite needs one control plane.
package verbs

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 90 * time.Second
	// heartbeat is short, so that what follows from it follows in seconds.
	heartbeat = "3s"
	workspace = "verbs"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	return stage.Until(t, patience)
}

// await looks until done is satisfied. A look starts a program: that has its price.
func await(t *testing.T, what string, done func() (ok bool, seen string)) {
	t.Helper()
	err := stage.AwaitEvery(until(t), 500*time.Millisecond, what, func(context.Context) (bool, string, error) {
		ok, seen := done()
		return ok, seen, nil
	})
	require.NoError(t, err)
}
