package join

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// crowd lets n agents join, all at once, or at a rate of so many a second. It returns when all have joined and beaten.
func crowd(ctx context.Context, o order, prefix string, n int, rate float64) ([]Outcome, error) {
	agents := make([]*agent, n)
	for i := range agents {
		var err error
		if agents[i], err = newAgent(o, fmt.Sprintf("%s-%d", prefix, i)); err != nil {
			return nil, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for i, a := range agents {
		group.Go(func() error {
			if rate > 0 {
				due := begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				select {
				case <-time.After(time.Until(due)):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return a.live(ctx)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, n)
	for i, a := range agents {
		outcomes[i] = a.outcome
	}
	return outcomes, nil
}

// live joins and beats once.
func (a *agent) live(ctx context.Context) error {
	session, err := a.join(ctx)
	if err != nil {
		return fmt.Errorf("agent %s: %w", a.clientID, err)
	}
	defer session.Close()
	return a.beat(ctx, session)
}
