// Package renewal_test lets credentials of the shortest life that the API server grants, ten minutes, come to their end
// while their agents use them. It takes that long and is at rest for nearly all of it.
package renewal_test

import (
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

const (
	// life is the shortest that the API server grants.
	life = 10 * time.Minute
	// patience bounds a wait that is no wait for a renewal.
	patience = 4 * time.Minute
	// heartbeat is how often agents look whether a renewed credential is there.
	heartbeat = "10s"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }
