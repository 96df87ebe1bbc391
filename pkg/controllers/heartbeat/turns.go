package heartbeat

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxTurns is how many turns are remembered of a cluster.
const maxTurns = 6

// turn is the time from which an agent beat after another one.
type turn struct {
	holder string
	at     time.Time
}

// takeTurn notes who beats. It never changes the list that it is given. back says that it is somebody who has beaten before.
func takeTurn(turns []turn, holder string, now time.Time) (list []turn, back bool) {
	if holder == "" || len(turns) > 0 && turns[len(turns)-1].holder == holder {
		return turns, false
	}
	back = slices.ContainsFunc(turns, func(t turn) bool { return t.holder == holder })
	if len(turns) == maxTurns {
		turns = turns[1:]
	}
	return append(slices.Clip(turns), turn{holder, now}), back
}

// onTurn follows who beats, event by event: of two agents that beat at the same moment the queue would show one alone.
func (h *handler) onTurn(before, now *coordinationv1.Lease) {
	if now == nil {
		h.tracker.forgetTurns(before.Namespace)
		return
	}
	if now.Name != names.HeartbeatLease {
		return
	}
	if h.tracker.turn(now.Namespace, holderOf(now), h.Clock.Now()) {
		h.Leases.Enqueue(now.Namespace, now.Name)
	}
}

// turn notes who beats, and asks for a judgement where somebody is back.
func (t *tracker) turn(key, holder string, now time.Time) (back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, back := takeTurn(t.turns[key], holder, now)
	if len(list) > 0 {
		t.turns[key] = list
	}
	if e, ok := t.entries[key]; ok && back {
		e.judged = false
		e.round++
	}
	return back
}

// forgetTurns frees what was kept of a Lease that is gone. It follows the same events as turn, so that none comes after it.
func (t *tracker) forgetTurns(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.turns, key)
	delete(t.suspected, key)
}

// suspects notes whether a cluster stands under suspicion. When that is over, who beat before it is forgotten: a person has
// looked at it, and the same is not to be said again.
func (t *tracker) suspects(key string, suspected bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.suspected[key] == suspected {
		return
	}
	if suspected {
		t.suspected[key] = true
	} else {
		delete(t.suspected, key)
		delete(t.turns, key)
	}
	if e, ok := t.entries[key]; ok {
		e.judged = false
		e.round++
	}
}

func isSuspected(c *fleet.Cluster) bool {
	_, suspected := registration.CloneOf(c.Annotations)
	return suspected
}
