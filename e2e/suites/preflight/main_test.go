// Package preflight_test proves on a real control plane what fleet cluster check says: that a kubeconfig that passes is
// imported, that one which fails is not, and for the reason that was said; and the same for the values of a token.
//
// One control plane is hub and cluster at once.
package preflight_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/stage"
)

// patience bounds a wait; it is several times what is expected on an idle machine.
const patience = 90 * time.Second

func TestMain(m *testing.M) { os.Exit(stage.Main(m)) }

// until is a context for one wait.
func until(t *testing.T) context.Context {
	t.Helper()
	return stage.Until(t, patience)
}
