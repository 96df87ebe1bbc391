package stage

import (
	"context"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/count"
)

// calm is how long nothing has to come for what was begun to be taken as done: the hub gathers news of a cluster that joins
// or whose bundles are under way for up to six seconds.
const calm = 8 * time.Second

// AwaitQuiet waits until what was begun is done: until for that long no request came that keep keeps, or any at all. It goes
// before an observation window, which is to show that nothing comes of itself.
func AwaitQuiet(t testing.TB, limit time.Duration, cluster *Cluster, keep ...func(count.Key) bool) {
	t.Helper()
	var seen count.Counts
	since := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := AwaitEvery(ctx, calm/4, "a while without such requests", func(context.Context) (bool, string, error) { // each reads the whole log
		now, err := cluster.Requests()
		if err != nil {
			return false, "", err
		}
		fresh := now.Sub(seen).Where(keep...)
		seen = now
		if fresh.Total() > 0 {
			since = time.Now()
			return false, fresh.String(), nil
		}
		return time.Since(since) >= calm, "", nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}
