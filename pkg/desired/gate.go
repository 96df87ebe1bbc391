package desired

import "sync"

// gateLimit bounds how many sets are remembered, about 150 bytes each. What is not remembered is applied once more.
const gateLimit = 1 << 16

// state is a set at one moment: what should exist, and what the cache showed.
type state struct {
	wanted, live digest
}

// gate remembers in which state a set was found to be as it should, so that the engine need not run for it again. A state
// that is equal to the remembered one says that neither the wish nor any live object changed: resource versions never
// come back.
type gate struct {
	limit int

	lock             sync.Mutex
	good             map[string]state
	applied, skipped uint64
}

func (g *gate) unchanged(id string, now state) bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	if then, ok := g.good[id]; ok && then == now {
		g.skipped++
		return true
	}
	g.applied++
	return false
}

func (g *gate) remember(id string, now state) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.good == nil {
		g.good = map[string]state{}
	}
	if _, ok := g.good[id]; !ok && len(g.good) >= g.limit {
		for some := range g.good {
			delete(g.good, some)
			break
		}
	}
	g.good[id] = now
}

func (g *gate) forget(id string) {
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.good, id)
}

func (g *gate) stats() (applied, skipped uint64) {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.applied, g.skipped
}
