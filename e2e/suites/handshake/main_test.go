// Package handshake kills controller and agents at every write of the handshake, in all ways of joining, and lets the
// handshake run against everything else that may come between: many at once, servers that restart, any order of starts.
// Each test is named after the behaviour that is wanted; the number of the case stands in its comment.
package handshake

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/lab"
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
var election = []string{
	"CATTLE_ELECTION_LEASE_DURATION=8s", "CATTLE_ELECTION_RENEW_DEADLINE=6s", "CATTLE_ELECTION_RETRY_PERIOD=1s",
}

// program is the product under test: a copy, so that a build during the run does not mix two versions.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fleet-handshake-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = takeProgram(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return lab.Main(m)
}

func takeProgram(folder string) error {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	source, err := os.Open(filepath.Join(root, "bin", "fleet"))
	if err != nil {
		return fmt.Errorf("the product is not built, run scripts/build first: %w", err)
	}
	defer source.Close()
	program = filepath.Join(folder, "fleet")
	target, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy of the product: %w", err)
	}
	if _, err := io.Copy(target, source); err != nil {
		return fmt.Errorf("copy of the product: %w", err)
	}
	return target.Close()
}

// full says whether everything runs at its full count.
func full() bool { return os.Getenv("FLEET_TEST_FULL") == "1" }

// reduced picks between the plain and the full amount, and says what is left out.
func reduced(t *testing.T, what string, plain, whole int) int {
	t.Helper()
	if full() {
		return whole
	}
	t.Logf("reduced: %s %d instead of %d; FLEET_TEST_FULL=1 runs all", what, plain, whole)
	return plain
}

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done func(ctx context.Context) (ok bool, seen string, err error)) {
	t.Helper()
	require.NoError(t, stage.Await(until(t), what, done))
}
