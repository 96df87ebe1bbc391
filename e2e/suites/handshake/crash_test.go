package handshake

import (
	"testing"

	"github.com/rancher/fleet/e2e/lab"
)

// R23, R09: controller or agent is killed at any write while the hub imports a cluster.
func TestAnImportThatWasKilledAtAnyWriteEndsAsIfItWasNot(t *testing.T) {
	t.Parallel()
	b := newBed(t, lab.New(t), lab.New(t), withoutLocal)
	namespace(t, b.Hub, workspace)
	b.started(t)
	newSweep(t, b, byManager{}).all(t)
}

// R23, R09, attack 12: the same while an agent registers its cluster.
func TestARegistrationThatWasKilledAtAnyWriteEndsAsIfItWasNot(t *testing.T) {
	t.Parallel()
	hub := lab.New(t) // it plays the cluster too, which the hub never calls
	b := newBed(t, hub, hub, withoutLocal)
	namespace(t, b.Hub, workspace)
	b.started(t)
	newSweep(t, b, byAgent{}).all(t)
}

// R23, R09: the same while a hub registers itself, at its first start.
func TestALocalRegistrationThatWasKilledAtAnyWriteEndsAsIfItWasNot(t *testing.T) {
	t.Parallel()
	hub := lab.New(t)
	b := newBed(t, hub, hub, nil)
	b.bootstrapInto(t, "-", "")
	b.started(t)
	b.forgetStart(t)
	newSweep(t, b, local{}).all(t)
}
