package bundledeployment

import (
	"context"
	"fmt"
	"time"
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
		err := call(callCtx)
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
