package kube

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Touch is what a process knows of its own connection to the API server. Of the time before Since it does not know what
// it has missed: the server was away, the network was, or the process itself was stopped. The zero value never ends.
type Touch struct {
	// Since is when the touch began that still lasts, or was lost last.
	Since time.Time
	// Lost says that it does not last.
	Lost bool
}

// From is since when something can be said to have been missing that was last seen at a time: not before the touch began.
func (t Touch) From(seen time.Time) time.Time {
	if seen.Before(t.Since) {
		return t.Since
	}
	return seen
}

// lapseBeats is how many probes in a row may fail, or be late, before the touch counts as lost.
const lapseBeats = 4

// Presence finds out, by a small read every now and then, whether a process is in touch with its API server.
type Presence struct {
	clock clock.WithTicker
	probe func(context.Context) error
	pace  func() time.Duration

	mu          sync.Mutex
	since, last time.Time
}

// NewPresence is a presence that begins now. It probes at a pace that may change.
func NewPresence(clock clock.WithTicker, pace func() time.Duration, probe func(context.Context) error) *Presence {
	now := clock.Now()
	return &Presence{clock: clock, probe: probe, pace: pace, since: now, last: now}
}

// ProbeLease reads one Lease past all caches. That there is none is an answer as well.
func ProbeLease(clients kubernetes.Interface, namespace, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := clients.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return err
	}
}

// Run probes until ctx ends.
func (p *Presence) Run(ctx context.Context) {
	for {
		pace := p.pace()
		p.once(ctx, pace)
		timer := p.clock.NewTimer(pace)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

func (p *Presence) once(ctx context.Context, pace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lapseBeats*pace)
	defer cancel()
	if p.probe(ctx) == nil {
		p.confirm(p.clock.Now())
	}
}

func (p *Presence) confirm(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lapsed(p.last, now, p.limit()) {
		p.since = now
	}
	p.last = now
}

// At is the touch at a time. That of a nil presence never ends.
func (p *Presence) At(now time.Time) Touch {
	if p == nil {
		return Touch{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Touch{Since: p.since, Lost: lapsed(p.last, now, p.limit())}
}

func (p *Presence) limit() time.Duration { return lapseBeats * p.pace() }

// lapsed says whether too much time lies between two looks, by either clock. While a machine sleeps only the one on the
// wall goes on; and one that was set, back or forth, says nothing of the time between.
func lapsed(last, now time.Time, limit time.Duration) bool {
	wall := now.Round(0).Sub(last.Round(0)) // without the monotonic reading
	return now.Sub(last) > limit || wall > limit || wall < -limit
}
