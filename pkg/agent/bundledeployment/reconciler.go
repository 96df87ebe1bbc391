package bundledeployment

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// DefaultWorkers is how many BundleDeployments are handled at once where nothing is given.
const DefaultWorkers = 50

// Reconciler handles the BundleDeployments of one cluster.
type Reconciler struct {
	Config
	queue    *kube.Queue
	memory   *memory
	waiting  *waiting
	contents *contents
	owners   *owners
	lent     *lent

	mu      sync.Mutex
	current *attached
	// said is what was last said of the bundles on the cluster.
	said *fleet.AgentBundles
}

// New needs every field of the configuration but Workers, Synced, Clock, Random, Metrics and Pace.
func New(c Config) *Reconciler {
	c.Pace = c.Pace.withDefaults()
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Workers <= 0 {
		c.Workers = DefaultWorkers
	}
	r := &Reconciler{Config: c, memory: newMemory(), waiting: newWaiting(), contents: newContents(), owners: newOwners(), lent: newLent(c.Workers)}
	r.queue = kube.NewQueue("bundledeployments", c.Workers, c.Pace.RetryFirst, c.Pace.RetryMax, r.reconcile)
	return r
}

// Run works until the context ends and what is under way has ended too. Without a session nothing is done.
func (r *Reconciler) Run(ctx context.Context) { r.queue.Run(ctx) }

// Drifted says that what was deployed has changed. It does not block; who calls it sees to it that this is not too often.
// One that has just failed comes back after its pause in any case, which changes on the cluster must not cut short.
func (r *Reconciler) Drifted(name string) {
	if !r.memory.isFailing(name) {
		r.queue.Add(name)
	}
}

// Look has BundleDeployments looked at that may be gone.
func (r *Reconciler) Look(names ...string) {
	for _, name := range names {
		r.queue.Add(name)
	}
}

// Unknown are those of the names that the hub does not have, as far as is known; ok is false while that is not known.
func (r *Reconciler) Unknown(names []string) (unknown []string, ok bool) {
	session := r.session()
	if session == nil {
		return nil, false
	}
	for _, name := range names {
		if session.get(name) == nil {
			unknown = append(unknown, name)
		}
	}
	return unknown, true
}

func (r *Reconciler) session() *attached {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

func (r *Reconciler) use(session *attached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = session
}

// leave gives a session up, unless another has taken its place.
func (r *Reconciler) leave(session *attached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == session {
		r.current = nil
	}
}

// again brings a BundleDeployment back after a while. It does not count as a failure.
func (r *Reconciler) again(name string, after time.Duration) { r.queue.AddAfter(name, after) }

// reconcile handles one BundleDeployment. An error brings it back after a pause that grows.
func (r *Reconciler) reconcile(ctx context.Context, name string) error {
	session := r.session()
	if session == nil {
		return nil // the next session begins with a look at all of them
	}
	log := logrus.WithField("bundleDeployment", session.Namespace+"/"+name)
	bd := session.get(name)
	if bd == nil {
		return r.counted(name, r.remove(ctx, session, name, log))
	}
	known := r.memory.alive(bd)
	if reason := hold(bd); reason != "" {
		r.Monitor.Forget(name)
		r.waiting.done(name)
		log.Debugf("Nothing is done: %s", reason)
		return nil
	}
	p := &pass{Reconciler: r, session: session, bd: bd, known: known, status: *known.DeepCopy(), log: log}
	return r.counted(name, p.run(ctx))
}

// counted notes how often in a row something failed, and tells the supervisor of a credential that is refused.
func (r *Reconciler) counted(name string, err error) error {
	r.memory.ended(name, err)
	return err
}
