package join

import (
	"context"

	"github.com/rancher/fleet/e2e/bench"
)

// look is the state of the hub at one moment.
type look struct {
	bench.Look
	// entries is how many requests the record has.
	entries     int
	watchEvents float64
}

func (m measurement) look(ctx context.Context) (look, error) {
	used, err := m.hub.Look()
	if err != nil {
		return look{}, err
	}
	if _, err := m.record.Read(); err != nil {
		return look{}, err
	}
	events, err := m.hub.WatchEvents(ctx)
	return look{Look: used, entries: len(m.record.Entries), watchEvents: events}, err
}
