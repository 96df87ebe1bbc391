package join

import (
	"context"
	"time"

	"github.com/rancher/fleet/e2e/bench"
)

// look is the state of the hub at one moment.
type look struct {
	at time.Time
	// entries is how many requests the record has.
	entries     int
	watchEvents float64
	usage       map[string]bench.Usage
	// busy is the processor time of the whole machine.
	busy float64
}

func (m measurement) look(ctx context.Context) (look, error) {
	usage, err := m.hub.Usage()
	if err != nil {
		return look{}, err
	}
	busy, err := bench.BusyCPU()
	if err != nil {
		return look{}, err
	}
	at := time.Now()
	if _, err := m.record.read(); err != nil {
		return look{}, err
	}
	events, err := m.hub.WatchEvents(ctx)
	return look{at: at, entries: len(m.record.entries), watchEvents: events, usage: usage, busy: busy}, err
}

func (l look) usedSince(earlier look) map[string]bench.Usage {
	out := map[string]bench.Usage{}
	for name, use := range l.usage {
		out[name] = use.Since(earlier.usage[name])
	}
	return out
}

// coresSince is how many processors each process kept busy since then, and how many were busy with other things.
func (l look) coresSince(earlier look) (own map[string]float64, others float64) {
	seconds := l.at.Sub(earlier.at).Seconds()
	own = map[string]float64{}
	others = (l.busy - earlier.busy) / seconds
	for name, use := range l.usedSince(earlier) {
		own[name] = use.CPU / seconds
		others -= own[name]
	}
	return own, max(0, others)
}
