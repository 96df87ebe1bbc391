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
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/lab"
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
var election = []string{
	"CATTLE_ELECTION_LEASE_DURATION=60s", "CATTLE_ELECTION_RENEW_DEADLINE=50s", "CATTLE_ELECTION_RETRY_PERIOD=1s",
}

// program is the product under test: a copy, so that a build during the run does not mix two versions.
var program string

// repository is the root of the checkout.
var repository string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fleet-badinput-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = takeProgram(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := lab.Main(m)
	if theBed != nil && theBed.front != nil {
		theBed.front.Close()
	}
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

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
