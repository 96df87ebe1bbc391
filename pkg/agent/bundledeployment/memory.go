package bundledeployment

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// memory is what is known of each BundleDeployment besides what the hub says. All of it can be lost: it saves work.
type memory struct {
	mu    sync.Mutex
	notes map[string]*note
}

// note is about one BundleDeployment.
type note struct {
	uid types.UID
	// written is what the hub has answered to the last write, and version which version of the object that is.
	written *fleet.BundleDeploymentStatus
	version string
	// unsent is a status that is being written, or could not be: what was done counts all the same.
	unsent *fleet.BundleDeploymentStatus
	// due says that something which was copied has changed, and what uses it is not deployed yet.
	due bool
	// copied is the session in which the downstream resources were last compared.
	copied *attached
	// cleared is the version whose copies are all that there are.
	cleared string
	// missing is when the hub was first seen not to have it, zero if it has.
	missing time.Time
	// foreign says that what is deployed was found to be for another hub or another Cluster.
	foreign bool
	// failures is how often in a row it failed.
	failures int
	// busy is since when a call of the deployer is under way that was given up waiting for, zero if none is.
	busy time.Time

	// retryAt is when a namespace that could not be changed is tried again, zero for at once.
	retryAt time.Time
	// first is a release that has no revision before it, although its number says so.
	first string

	amends pauses
}

// pauses is a row of pauses that doubles, and begins anew after a quiet time.
type pauses struct {
	last  time.Time
	pause time.Duration
}

// next is the pause before what happens now, and longer the next time. The first after a quiet time is the first of all.
func (p *pauses) next(now time.Time, first, most, quiet time.Duration) time.Duration {
	if p.last.IsZero() || now.Sub(p.last) >= quiet {
		p.pause = first
	} else {
		p.pause = min(2*p.pause, most)
	}
	p.last = now
	return p.pause
}

func newMemory() *memory { return &memory{notes: map[string]*note{}} }

// of is the note about a BundleDeployment, made if need be. The lock must be held.
func (m *memory) of(name string) *note {
	found := m.notes[name]
	if found == nil {
		found = &note{}
		m.notes[name] = found
	}
	return found
}

// about runs do with the note about a BundleDeployment.
func (m *memory) about(name string, do func(*note)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do(m.of(name))
}

// alive notes that the hub has it, and returns the latest status that is known: the cache may be behind what was written.
func (m *memory) alive(bd *fleet.BundleDeployment) *fleet.BundleDeploymentStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.of(bd.Name)
	n.missing = time.Time{}
	if n.uid != bd.UID {
		*n = note{uid: bd.UID, busy: n.busy}
	}
	if n.written != nil && isOlder(bd.ResourceVersion, n.version) {
		return n.written
	}
	n.written, n.version = nil, ""
	return &bd.Status
}

// wrote notes what the hub has answered to a write.
func (m *memory) wrote(bd *fleet.BundleDeployment) {
	m.about(bd.Name, func(n *note) {
		if n.uid == bd.UID {
			n.written, n.version, n.unsent = bd.Status.DeepCopy(), bd.ResourceVersion, nil
		}
	})
}

// isNews says whether the status of an object from a watch is other than what was known before.
func (m *memory) isNews(before, now *fleet.BundleDeployment) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[now.Name]
	if n != nil && n.uid == now.UID && n.unsent != nil && sameReport(n.unsent, &now.Status) {
		return false
	}
	if n != nil && n.uid == now.UID && n.written != nil {
		if isOlder(now.ResourceVersion, n.version) {
			return false
		}
		before = &fleet.BundleDeployment{Status: *n.written}
		n.written, n.version = nil, ""
	}
	return !sameReport(&before.Status, &now.Status)
}

// ended notes how often in a row something failed.
func (m *memory) ended(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[name]
	switch {
	case n == nil:
	case err == nil:
		n.failures = 0
	default:
		n.failures++
	}
}

// isFailing says whether a BundleDeployment failed when it was looked at last.
func (m *memory) isFailing(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[name]
	return n != nil && n.failures > 0
}

// keep notes a status that the hub has not heard of, nil if there is none.
func (m *memory) keep(name string, unsent *fleet.BundleDeploymentStatus) {
	m.about(name, func(n *note) { n.unsent = unsent })
}

// drop forgets a BundleDeployment, unless a call of the deployer for it is under way.
func (m *memory) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.notes[name]; n != nil && n.busy.IsZero() {
		delete(m.notes, name)
	}
}

// mayAmend says whether a release may be put right now, and else when.
func (m *memory) mayAmend(name string, now time.Time, pace Pace) (wait time.Duration) {
	m.about(name, func(n *note) {
		if since := now.Sub(n.amends.last); !n.amends.last.IsZero() && since < n.amends.pause {
			wait = n.amends.pause - since
			return
		}
		n.amends.next(now, pace.AmendFirst, pace.AmendMax, pace.AmendQuiet)
	})
	return wait
}

// untilAmend is the pause after which a release may be put right next.
func (m *memory) untilAmend(name string, now time.Time, pace Pace) (wait time.Duration) {
	m.about(name, func(n *note) { wait = max(pace.AmendFirst, n.amends.pause-now.Sub(n.amends.last)) })
	return wait
}

// free says that a call has ended, and whether somebody had given up waiting for it.
func (m *memory) free(name string, began time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[name]
	if n == nil || !n.busy.Equal(began) || n.busy.IsZero() {
		return false
	}
	n.busy = time.Time{}
	return true
}

func isOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
