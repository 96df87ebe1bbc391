package manageagent

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// hangAfter is how long an agent may take to come back with the generation that it was given.
const hangAfter = 10 * time.Minute

// key names a Cluster.
type key struct{ namespace, name string }

// agent is what a wave looks at of one Cluster.
type agent struct {
	key
	canary bool
	// reachable says that the agent is connected, and that the hub sends it something: its cluster is neither paused nor held.
	reachable bool
	// desired, written and running are the generations that the hub wants, that the bundle carries and that runs.
	desired, written, running string
	// waved says that written came in its turn, at writtenAt or, where the agent could not be reached then, since when it can.
	waved     bool
	writtenAt time.Time
	// upgradedAt is since when running is what is written.
	upgradedAt time.Time
	// takenBack says that the agent has put its own pod template back.
	takenBack bool
	// failing says that the bundle could not be written the last time.
	failing bool
}

// waits says that an agent has not been given yet what the hub wants.
func (a agent) waits() bool { return a.written != a.desired }

// policy is how agents are upgraded.
type policy struct {
	maxUnavailable intstr.IntOrString
	soak           time.Duration
}

// wave says who is given the new generation now, and what the others wait for.
type wave struct {
	now map[key]bool
	// message is what the others wait for. It says nothing that changes with each agent: it is written to all of them.
	message string
	// stopped are the Clusters whose upgrade stops the others', byCanary says that they are canaries.
	stopped  []key
	byCanary bool
	// again is when time alone brings another answer, zero for never.
	again time.Time
}

// tally counts agents by how far they are.
type tally struct {
	// present are those that count.
	present, inFlight, lost int
	waiting                 []agent
	// held are those under way that do not get on, failed the canaries among them.
	held, failed []key
	// canaries says that canaries wait or are under way; soaked is when the last of them has run for long enough.
	canaries bool
	soaked   time.Time
	again    time.Time
}

// planWave is the whole policy. Canaries go first; when they have run for the soak, the others follow, a share of them at
// a time. An agent that cannot be reached does not count and is given nothing; it takes its turn when it comes back. An
// upgrade that was taken back, or hangs, keeps its place: that is all that an agent which says so can take from others.
// When all places are kept the wave stops, and at a canary at once, since the hub's own people chose it to tell.
func planWave(agents []agent, p policy, now time.Time) wave {
	t := count(agents, p, now)
	budget := share(p.maxUnavailable, t.present)
	w := wave{now: map[key]bool{}, again: t.again}
	candidates := t.waiting
	switch {
	case len(t.failed) > 0:
		slices.SortFunc(t.failed, compareKeys)
		w.stopped, w.byCanary = t.failed, true
		return w
	case budget == 0:
		w.message = "agentUpgrade.maxUnavailable is 0: no agent is upgraded"
		return w
	case t.lost > budget:
		w.message = "the upgrade of agents is stopped: too many fell silent, or are held, in theirs"
		return w
	case len(t.held) >= budget:
		slices.SortFunc(t.held, compareKeys)
		w.stopped = t.held
		return w
	case t.canaries:
		w.message = "the agents of the canary clusters are upgraded first"
		candidates = slices.DeleteFunc(candidates, func(a agent) bool { return !a.canary })
	case now.Before(t.soaked):
		w.message = fmt.Sprintf("the agents of the canary clusters are watched until %s", t.soaked.UTC().Format(time.RFC3339))
		w.again = earliest(w.again, t.soaked)
		return w
	default:
		w.message = fmt.Sprintf("its turn: agents are upgraded %s at a time", p.maxUnavailable.String())
	}
	slices.SortFunc(candidates, func(a, b agent) int { return compareKeys(a.key, b.key) })
	free := budget - t.inFlight
	for _, a := range candidates {
		if a.failing {
			w.now[a.key] = true // it tries again, and takes nobody's place
		} else if free > 0 {
			w.now[a.key] = true
			free--
		}
	}
	return w
}

func count(agents []agent, p policy, now time.Time) (t tally) {
	for _, a := range agents {
		switch {
		case a.waits():
			t.wait(a)
		case a.running == a.written:
			t.upgraded(a, p)
		case a.waved:
			t.underWay(a, now)
		case a.reachable:
			t.present++ // its own change is its own matter
		}
	}
	return t
}

func (t *tally) wait(a agent) {
	if !a.reachable {
		return
	}
	t.present++
	t.waiting = append(t.waiting, a)
	t.canaries = t.canaries || a.canary
}

func (t *tally) upgraded(a agent, p policy) {
	if !a.reachable {
		return
	}
	t.present++
	if end := a.upgradedAt.Add(p.soak); a.canary && a.waved && end.After(t.soaked) {
		t.soaked = end
	}
}

// underWay is for an agent that was given the generation and does not run it yet. One that fell silent may have done so
// because of that, or by chance: it keeps its place for a while, and then only counts as lost.
func (t *tally) underWay(a agent, now time.Time) {
	ends := a.writtenAt.Add(hangAfter)
	hangs := !now.Before(ends)
	switch {
	case a.takenBack, hangs && a.reachable:
		t.hold(a)
	case hangs:
		t.lost++
	default:
		t.inFlight++
		t.present++
		t.canaries = t.canaries || a.canary
		t.again = earliest(t.again, ends)
	}
}

// hold is for an agent whose upgrade was taken back, or hangs.
func (t *tally) hold(a agent) {
	t.inFlight++
	t.present++
	t.held = append(t.held, a.key)
	if a.canary {
		t.failed = append(t.failed, a.key)
	}
}

// share is how many of so many agents may be under way. Rounding never stops all of them.
func share(max intstr.IntOrString, present int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&max, present, false)
	if err != nil {
		return 1 // the configuration was checked when it was read
	}
	if zero, err := intstr.GetScaledValueFromIntOrPercent(&max, 100, true); n < 1 && err == nil && zero > 0 {
		return 1
	}
	return n
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// told is what the Clusters of a namespace are told. It names no Cluster of another: who may read one workspace need not
// be allowed to know of the others.
func (w wave) told(namespace string) string {
	if len(w.stopped) == 0 {
		return "waits for " + w.message
	}
	why := "as many as may be under way at once were taken back or hang"
	if w.byCanary {
		why = "that of a canary cluster was taken back or hangs"
	}
	for _, k := range w.stopped {
		if k.namespace == namespace {
			return fmt.Sprintf("the upgrade of agents is stopped: %s; condition AgentUpgraded of cluster %s says why", why, k.name)
		}
	}
	return "the upgrade of agents is stopped: " + why + ", in another workspace"
}
