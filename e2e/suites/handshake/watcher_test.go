package handshake

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/shim"
)

// watcher kills a process at a point, and learns the writes that come before.
type watcher struct {
	s         *sweep
	at        *point
	injection *shim.Injection
	marks     map[string]int
	ctx       context.Context
	cancel    context.CancelFunc
	done      chan error
}

// watch begins to watch the shims. Only the writes up to the kill are learnt: those that follow are of a recovery.
func (s *sweep) watch(t *testing.T, at *point, agent *actor) *watcher {
	t.Helper()
	w := &watcher{s: s, at: at, marks: map[string]int{}, done: make(chan error, 1)}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	for _, server := range s.servers() {
		w.marks[server] = lastNumber(s.front(server))
	}
	if at == nil {
		close(w.done)
		return w
	}
	victim := s.controller
	if at.by == fleetAgent {
		victim = agent
	}
	w.injection = s.front(at.at).Inject(shim.Rule{Match: isWrite(at.write), Times: 1, Fault: at.fault()})
	go func() { w.done <- w.kill(victim) }()
	return w
}

var errNotReached = errors.New("the point was not reached")

func (w *watcher) kill(victim *actor) error {
	select {
	case <-w.ctx.Done():
		return errNotReached
	case <-w.injection.Done():
	}
	defer w.injection.Remove()
	return victim.crash(w.ctx)
}

// end stops watching, and reports whether the process was killed.
func (w *watcher) end(t *testing.T) bool {
	t.Helper()
	var hit *shim.Request
	if w.at != nil {
		if hits := w.injection.Hits(); len(hits) > 0 {
			hit = &hits[0]
		}
	}
	if hit == nil {
		w.cancel()
	}
	err := <-w.done
	w.cancel()
	if w.injection != nil {
		w.injection.Remove()
	}
	if !errors.Is(err, errNotReached) {
		require.NoError(t, err)
	}
	for _, server := range w.s.servers() {
		w.s.learn(server, slices.DeleteFunc(w.s.front(server).Requests(), func(r shim.Request) bool {
			return r.Number <= w.marks[server] || hit != nil && r.Time.After(hit.Time)
		}))
	}
	return hit != nil
}

// servers are those with a shim of their own.
func (s *sweep) servers() []string {
	if s.edge == s.Hub {
		return []string{atHub}
	}
	return []string{atHub, atEdge}
}

func lastNumber(front *shim.TLS) int {
	requests := front.Requests()
	if len(requests) == 0 {
		return 0
	}
	return requests[len(requests)-1].Number
}

// learn notes writes that were not seen before.
func (s *sweep) learn(server string, requests []shim.Request) {
	for _, w := range writesOf(server, requests) {
		if !slices.Contains(s.writes, w) {
			s.writes = append(s.writes, w)
		}
	}
}
