package handshake

import (
	"context"
	"errors"
	"sync"

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
