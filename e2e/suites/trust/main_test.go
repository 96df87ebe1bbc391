// Package trust_test replays, on real control planes, what goes wrong with certificates, authorities, addresses and proxies
// between a hub, its clusters and their agents. Each test is named after the behaviour that is wanted; the number of the
// case stands in its comment. The full table of what is trusted is in pkg/kube; here are its corners.
//
// One hub and one downstream cluster are shared. What a test has of its own is a workspace, an agent namespace, and where
// it needs one, a shim or a proxy as its way to the hub. Tests that change the hub's configuration run first, one after
// the other; the others follow in parallel.
package trust_test

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
	// heartbeat is short, so that silence shows in seconds; three of them are the grace.
	heartbeat = "2s"
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 2 * time.Minute
	// window is how long nothing must happen where a test says so: two heartbeats and more.
	window = 5 * time.Second
	// grace is how long a process may take to end.
	grace = 30 * time.Second
	// certLife is that of the certificates of shims.
	certLife = time.Hour
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
	folder, err := os.MkdirTemp("", "fleet-trust-")
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
