package handshake

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/proc"
)

// actor is a process of the product that dies and is started again, as a container is in its pod.
type actor struct {
	start func(context.Context) (*proc.Process, error)

	mu      sync.Mutex
	process *proc.Process
	crashes int
}

// up starts the process unless it runs.
func (a *actor) up(ctx context.Context) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil || !a.process.Running() {
		a.process, err = a.start(ctx)
	}
	return err
}

// crash kills the process and starts another.
func (a *actor) crash(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return errors.New("there is no process to be killed")
	}
	if err := a.process.Kill(); err != nil {
		return err
	}
	a.crashes++
	var err error
	a.process, err = a.start(ctx)
	return err
}

// end kills the process, if it runs.
func (a *actor) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil || !a.process.Running() {
		return nil
	}
	return a.process.Kill()
}

// tail is the end of the log.
func (a *actor) tail(lines int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return ""
	}
	return a.process.Tail(lines)
}

// pid is the id of the process that runs.
func (a *actor) pid() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.process.PID()
}

func (a *actor) running() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.process.Running()
}

// signal stops the process for a while, or lets it go on.
func (a *actor) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(a.pid(), sig))
}

// keep starts the process again whenever it has ended by itself, as a kubelet does, until the test ends.
func (a *actor) keep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	keeping.Go(func() {
		for {
			a.mu.Lock()
			done := a.process.Done()
			a.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-done:
			}
			if err := a.up(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("starting again what has ended: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); keeping.Wait() })
}
