package pace

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// spread is how far a jittered pause is from the one asked for, as a share of it.
const spread = 0.2

// Random is a number in [0, 1).
type Random func() float64

// Jitter is d plus or minus up to a fifth, so that agents which started together do not stay together.
func Jitter(d time.Duration, random Random) time.Duration {
	return time.Duration(float64(d) * (1 - spread + 2*spread*random()))
}

// Backoff is a row of pauses, each twice the one before.
type Backoff struct {
	First, Max time.Duration
	Random     Random

	steps int
}

// Next is the next pause, with jitter.
func (b *Backoff) Next() time.Duration {
	pause := b.First
	for i := 0; i < b.steps && pause < b.Max; i++ {
		pause *= 2
	}
	b.steps++
	return Jitter(min(pause, b.Max), b.Random)
}

// Reset begins the row again.
func (b *Backoff) Reset() { b.steps = 0 }

// Sleep waits for d. It returns the context's error if that ended first.
func Sleep(ctx context.Context, clk clock.Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// Repeat calls do at once and then again after the pause that it returned, until the context ends.
func Repeat(ctx context.Context, clk clock.Clock, do func(ctx context.Context) time.Duration) {
	for ctx.Err() == nil {
		if Sleep(ctx, clk, do(ctx)) != nil {
			return
		}
	}
}

// RepeatOn is Repeat, and calls do as well when either channel has a message.
func RepeatOn(ctx context.Context, clk clock.Clock, one, other <-chan struct{}, do func(ctx context.Context) time.Duration) {
	for ctx.Err() == nil {
		timer := clk.NewTimer(do(ctx))
		select {
		case <-ctx.Done():
		case <-one:
		case <-other:
		case <-timer.C():
		}
		timer.Stop()
	}
}
