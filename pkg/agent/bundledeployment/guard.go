package bundledeployment

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/fleet/pkg/registration"
)

// guard makes a call of the deployer that ends: by itself, when it takes longer than limit, or a moment after the agent
// was told to end, so that a release is not left half done without need. A call that does not end even then is given
// up waiting for. Its BundleDeployment is left alone until it has ended; the worker is free for others. While the call only
// waits another worker takes its place.
func (r *Reconciler) guarded(ctx context.Context, name string, limit time.Duration, call func(ctx context.Context) error) error {
	began := r.Clock.Now()
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	callCtx, ended := r.lending(callCtx)
	defer ended()
	done := make(chan error, 1)
	go func() {
		err := safely(callCtx, name, call)
		cancel()
		done <- err
		if r.memory.free(name, began) {
			r.queue.Add(name)
		}
	}()
	select {
	case err := <-done:
		return err
	case <-callCtx.Done():
	case <-ctx.Done():
		if err, ended := within(done, r.Pace.Drain); ended {
			return err
		}
		cancel()
	}
	if err, ended := within(done, r.Pace.Abandon); ended {
		return err
	}
	// From here on the call finds that nobody waits, or has ended just now.
	r.memory.about(name, func(n *note) { n.busy = began })
	select {
	case err := <-done:
		r.memory.free(name, began)
		return err
	default:
	}
	r.Metrics.Stuck()
	return fmt.Errorf("a call of Helm that began at %s does not end: the bundle is left alone until it does", stamp(began))
}

// maxPanic bounds what is told of a panic: it may have words of a chart in it.
const maxPanic = 200

// safely turns a panic into an error: what one bundle's chart does to Helm must not end the work for all, the agent's own
// bundle among them.
func safely(ctx context.Context, name string, call func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			said := registration.Printable(fmt.Sprint(r), maxPanic)
			logrus.WithField("bundledeployment", name).Errorf("panic: %s\n%s", said, debug.Stack())
			err = fmt.Errorf("bundle %s: a call of Helm ended in a panic, which is a fault of it or of this agent: %s", name, said)
		}
	}()
	return call(ctx)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func within(done <-chan error, d time.Duration) (error, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-done:
		return err, true
	case <-timer.C:
		return nil, false
	}
}

func (p *pass) guard(ctx context.Context, limit time.Duration, call func(ctx context.Context) error) error {
	return p.guarded(ctx, p.bd.Name, limit, call)
}

// busy says that a call which was given up waiting for is still under way.
func (r *Reconciler) busy(name string) (err error) {
	r.memory.about(name, func(n *note) {
		if !n.busy.IsZero() {
			err = fmt.Errorf("a call of Helm that began at %s is still under way", stamp(n.busy))
		}
	})
	return err
}
