package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// exitInterrupted is what shells expect after a Ctrl-C.
const exitInterrupted = 130

var errInterrupted = errors.New("interrupted")

// untilInterrupted ends its context at the first SIGINT or SIGTERM and says so. A second one ends the program at once; the
// next run then clears up.
func untilInterrupted(parent context.Context, complaints io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			fmt.Fprintln(complaints, "\ndemo: interrupted, cleaning up")
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

func interrupted(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errInterrupted) }
