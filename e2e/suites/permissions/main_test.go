// Package permissions_test proves on real control planes who may do what, and where secrets are: every attempt and every
// rule of e2e/permissions/matrix.yaml at each step of the handshake, and canary values that must be nowhere but in Secrets.
//
// The tests share a hub with its controller and one cluster that the hub imports, whose agent runs as its Deployment says.
package permissions_test

import (
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// patience bounds a wait; it is several times what is expected on a machine that is busy with other things.
	patience = 3 * time.Minute
	// heartbeat is short, so that what follows from it follows in seconds.
	heartbeat = "5s"
	// edge is the cluster that the hub imports.
	edge = "edge"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}
