package stage

import (
	"context"
	"slices"
	"time"
)

// betweenSnapshots is the pause between two looks at all objects of an API server, which keep it busy.
const betweenSnapshots = 200 * time.Millisecond

// Settled waits until nothing new has come to a cluster for a while, and returns all that it has.
func (c *Cluster) Settled(ctx context.Context, stillness time.Duration) (Snapshot, error) {
	var last Snapshot
	var since time.Time
	err := AwaitEvery(ctx, betweenSnapshots, "rest on "+c.Name, func(ctx context.Context) (bool, string, error) {
		now, err := c.Snapshot(ctx)
		if err != nil {
			return false, "", err
		}
		if fresh := now.Without(last); len(fresh) > 0 || len(now) != len(last) {
			last, since = now, time.Now()
			return false, "still coming:\n" + Lines(fresh), nil
		}
		return time.Since(since) >= stillness, "nothing new, but not for " + stillness.String(), nil
	})
	return last, err
}

// AwaitSame waits until a cluster has the objects of a snapshot and no others, apart from those that do not count.
func (c *Cluster) AwaitSame(ctx context.Context, found Snapshot, ignored func(Key) bool) error {
	return AwaitEvery(ctx, betweenSnapshots, c.Name+" to have the objects that it had before", func(ctx context.Context) (bool, string, error) {
		now, err := c.Snapshot(ctx)
		if err != nil {
			return false, "", err
		}
		more, less := slices.DeleteFunc(now.Without(found), ignored), found.Without(now)
		return len(more)+len(less) == 0, "in addition:\n" + Lines(more) + "missing:\n" + Lines(less), nil
	})
}
