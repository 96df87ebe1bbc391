package manageagent

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// lagLimit is how long a cache may be behind what was written. After that it is believed whatever it says.
const lagLimit = time.Minute

// recent are the marks of bundles that were written and that the cache has not shown yet. A cache that is behind would
// show an agent as one that still waits for its turn, and another would be let in in its place: one too many under way.
type recent struct {
	mu    sync.Mutex
	marks map[life]note
}

// note is a mark, and when it was written.
type note struct {
	mark mark
	at   time.Time
}

// life is one life of a Cluster's name.
type life struct {
	key
	uid types.UID
}

func lifeOf(c *fleet.Cluster) life { return life{key{c.Namespace, c.Name}, c.UID} }

func newRecent() *recent { return &recent{marks: map[life]note{}} }

// wrote remembers what was written.
func (r *recent) wrote(c *fleet.Cluster, m mark, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, n := range r.marks {
		if now.Sub(n.at) >= lagLimit {
			delete(r.marks, of)
		}
	}
	r.marks[lifeOf(c)] = note{mark: m, at: now}
}

// newest is the mark of a bundle: the cache's, or a later one that it does not show yet.
func (r *recent) newest(c *fleet.Cluster, cached mark, now time.Time) mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.marks[lifeOf(c)]
	switch {
	case !ok:
		return cached
	case cached.Generation == n.mark.Generation || cached.Written.After(n.mark.Written) || now.Sub(n.at) >= lagLimit:
		delete(r.marks, lifeOf(c))
		return cached
	}
	return n.mark
}

// since is how long ago the mark was written that the cache has not shown yet; a long time where there is none.
func (r *recent) since(c *fleet.Cluster, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.marks[lifeOf(c)]
	if !ok {
		return lagLimit
	}
	return now.Sub(n.at)
}
