package bundledeployment

import (
	"context"
	"fmt"
	"sync"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// lentTo is how many times as many calls may wait as there are workers. Each keeps what it has rendered in memory.
const lentTo = 4

// lent are the workers that others have while calls of the deployer only wait, and the bundles that were not begun since
// there were too many of these.
type lent struct {
	mu        sync.Mutex
	now, most int
	held      map[string]bool
}

func newLent(workers int) *lent { return &lent{most: lentTo * workers, held: map[string]bool{}} }

func (l *lent) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now >= l.most {
		return false
	}
	l.now++
	return true
}

// give takes one back, and returns those that may be begun now.
func (l *lent) give() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now--
	var out []string
	for name := range l.held {
		out = append(out, name)
	}
	clear(l.held)
	return out
}

// hold says whether a bundle that will wait has to be begun later, and notes that.
func (l *lent) hold(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now < l.most {
		return false
	}
	l.held[name] = true
	return true
}

// mayBegin holds a bundle back that says of itself that it waits, while all who may wait do.
func (p *pass) mayBegin(o fleet.BundleDeploymentOptions) error {
	waits := o.Helm != nil && (o.Helm.TimeoutSeconds > 0 || o.Helm.Atomic)
	if !waits || isAgent(p.bd, p.session) || !p.lent.hold(p.bd.Name) {
		return nil
	}
	return &waitsTurn{fmt.Sprintf("waits for its turn: %d bundles wait for their objects or hooks already (helm.timeoutSeconds, helm.atomic)", p.lent.most)}
}

// lender has another work in place of a call of the deployer while that only waits, longer than a moment.
type lender struct {
	*Reconciler
	mu sync.Mutex
	// over says that nobody waits for the call any more.
	over  bool
	waits int
	timer *time.Timer
	back  func()
}

// lending makes the context of a call. What it returns besides ends the lending; the worker goes on by itself then.
func (r *Reconciler) lending(ctx context.Context) (context.Context, func()) {
	l := &lender{Reconciler: r}
	return helmdeployer.OnWait(ctx, l.begin), l.close
}

func (l *lender) begin() (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++
	if l.waits == 1 && !l.over {
		l.timer = time.AfterFunc(l.Pace.Patience, l.lend)
	}
	return sync.OnceFunc(l.end)
}

func (l *lender) lend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over || l.waits == 0 || l.back != nil:
	case l.lent.take():
		l.back = l.queue.Lend()
	default:
		l.timer.Reset(l.Pace.Patience)
	}
}

func (l *lender) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits--; l.waits == 0 {
		l.stop()
	}
}

func (l *lender) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.stop()
}

// stop takes the worker back. The lock is held.
func (l *lender) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.back == nil {
		return
	}
	l.back()
	l.back = nil
	for _, name := range l.lent.give() {
		l.queue.Forget(name)
		l.queue.Add(name)
	}
}
