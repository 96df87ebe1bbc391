// Package registration_test proves on real control planes what registration promises: which objects there are and which
// rights, that they go away again, that nothing is written when nothing changes, and that both Kubernetes lines work.
//
// Three beds are shared by the tests, each started by the first test that needs it: the world (a hub with its local
// cluster, one that the hub imports, one that joins by itself), the yard (a hub whose clusters come and go), and an API
// server with nothing but the CRDs.
package registration_test

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
var election = []string{
	"CATTLE_ELECTION_LEASE_DURATION=8s", "CATTLE_ELECTION_RENEW_DEADLINE=6s", "CATTLE_ELECTION_RETRY_PERIOD=500ms",
}

// program is the product under test: a copy, so that a build during the run does not mix two versions.
var program string

// repository is the root of the checkout.
var repository string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fleet-registration-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = takeProgram(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := lab.Main(m)
	return code
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
	repository, program = root, filepath.Join(folder, "fleet")
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
func reduced[T any](t *testing.T, what string, plain, whole T) T {
	t.Helper()
	if full() {
		return whole
	}
	t.Logf("reduced: %s %v instead of %v; FLEET_TEST_FULL=1 runs all", what, plain, whole)
	return plain
}

// until is a context for one wait.
func until(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done func(ctx context.Context) (ok bool, seen string, err error)) {
	t.Helper()
	require.NoError(t, stage.Await(until(t, patience), what, done))
}
