package join

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
)

const (
	// betweenLooks is the pause between two looks, which cost the machine something.
	betweenLooks = 250 * time.Millisecond
	// stillness is how long nothing may be written until the hub counts as quiet, briefStillness the same between joins
	// that come one after the other.
	stillness      = 3 * time.Second
	briefStillness = 500 * time.Millisecond
)

// record is what the hub's audit log holds.
type record struct {
	log     *count.AuditLog
	entries []count.Entry
}

// read takes up what is new, and returns it.
func (r *record) read() ([]count.Entry, error) {
	known := len(r.entries)
	err := r.log.Read(func(e count.Entry) { r.entries = append(r.entries, e) })
	return r.entries[known:], err
}

// awaitStillness waits until no request of others than the agents has written anything for a while.
func (r *record) awaitStillness(ctx context.Context, still time.Duration) error {
	since := time.Now()
	return stage.AwaitEvery(ctx, betweenLooks, "the hub to be quiet", func(context.Context) (bool, string, error) {
		fresh, err := r.read()
		if err != nil {
			return false, "", err
		}
		seen := ""
		for _, e := range fresh {
			if isHubWrite(e.Key) {
				since, seen = time.Now(), fmt.Sprintf("%s %s/%s", e.Key, e.Namespace, e.Name)
			}
		}
		return time.Since(since) >= still, seen, nil
	})
}

// lastWrite is when the hub wrote last.
func (r *record) lastWrite() time.Time {
	for _, e := range slices.Backward(r.entries) {
		if isHubWrite(e.Key) {
			return e.Answered
		}
	}
	return time.Time{}
}
