package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limit bounds one run; it is many times what one takes.
const Limit = 30 * time.Minute

// On raises a hub, measures on it and removes it. An error carries what the controller said last.
func On[R any](ctx context.Context, o HubOptions, measure func(ctx context.Context, h *Hub) (R, error)) (run R, err error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	o.Tell("starting a new hub")
	h, err := RaiseHub(ctx, o)
	if err != nil {
		return run, err
	}
	defer func() {
		if err != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
			err = fmt.Errorf("%w\n%s", err, h.Explain())
		}
		o.Tell("removing the hub")
		err = errors.Join(err, h.Remove())
	}()
	return measure(ctx, h)
}

// Tell says what a run does, where anybody listens.
func (o HubOptions) Tell(format string, args ...any) {
	if o.Out != nil {
		fmt.Fprintf(o.Out, "   "+format+"\n", args...)
	}
}
