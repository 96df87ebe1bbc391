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
	"os"
	"testing"
	"time"

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
var election = stage.Election(60*time.Second, 50*time.Second, time.Second)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

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
