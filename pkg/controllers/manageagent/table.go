package manageagent

import (
	"slices"
	"sync"
	"time"
)

// table is what a wave looks at, of all Clusters. It is empty while no agent waits: then nobody has to be counted.
type table struct {
	// fill gives all agents, policy how they are upgraded. Both are asked when the first agent waits.
	fill   func(now time.Time) []agent
	policy func() policy

	mu      sync.Mutex
	agents  map[key]agent
	changed bool
	// last is the wave as it is, announced as it was when all who wait had to look at it.
	last, announced wave
	fresh           bool
	// saidAt is when those who wait were last told something else.
	saidAt time.Time
}

// sayEvery is how far apart news for those who wait are: each is a write for each of them, and one agent that changes its
// mind all the time must not cause more of them.
const sayEvery = 10 * time.Second

// put takes in an agent as it is now, forget one that is gone or none of the hub's.
func (t *table) put(a agent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.agents[a.key]; t.agents != nil && (!ok || before != a) {
		t.agents[a.key], t.changed = a, true
	}
}

func (t *table) forget(k key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.agents[k]; ok {
		delete(t.agents, k)
		t.changed = true
	}
}

// reset is for a new configuration, which may want another generation of everybody.
func (t *table) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.empty()
}

func (t *table) empty() {
	t.agents, t.last, t.announced, t.changed, t.fresh = nil, wave{}, wave{}, false, false
	t.saidAt = time.Time{}
}

// ask is the wave as an agent that waits has to know it.
func (t *table) ask(a agent, now time.Time) wave {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Another generation is wanted of one that waits: then the configuration is new, and the others' are too.
	if before, ok := t.agents[a.key]; !ok || before.desired != a.desired {
		t.agents = map[key]agent{}
		for _, each := range t.fill(now) {
			t.agents[each.key] = each
		}
		t.changed = true
	}
	if t.agents[a.key] != a {
		t.agents[a.key], t.changed = a, true
	}
	t.plan(now)
	return t.last
}

// next says who has to be looked at because of what was put or forgotten, or because of the time, and when to look again.
func (t *table) next(now time.Time) (look []key, again time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.agents == nil {
		return nil, time.Time{}
	}
	t.plan(now)
	if !t.fresh {
		// Said each time: the queue keeps one time for a Cluster, the earliest that anybody asked for.
		return nil, t.last.again
	}
	before := t.announced
	news := before.message != t.last.message || before.byCanary != t.last.byCanary || !slices.Equal(before.stopped, t.last.stopped)
	again = t.last.again
	if soonest := t.saidAt.Add(sayEvery); news && now.Before(soonest) {
		news, again = false, earliest(again, soonest)
		t.announced.now = t.last.now // who may go on need not wait for the news
	} else {
		t.announced, t.fresh = t.last, false
	}
	if news && before.now != nil { // what is said first has just been brought about by the hub itself
		t.saidAt = now
	}
	waiting := false
	for k, a := range t.agents {
		if a.waits() && (news || t.last.now[k] && !before.now[k]) {
			look = append(look, k)
		}
		waiting = waiting || a.waits()
	}
	if !waiting {
		t.empty()
	}
	return look, again
}

func (t *table) plan(now time.Time) {
	due := !t.last.again.IsZero() && !now.Before(t.last.again)
	if !t.changed && !due {
		return
	}
	agents := make([]agent, 0, len(t.agents))
	for _, a := range t.agents {
		agents = append(agents, a)
	}
	t.last, t.changed, t.fresh = planWave(agents, t.policy(), now), false, true
}
