package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
)

const (
	// BetweenLooks is the pause between two looks at the hub, which cost the machine something.
	BetweenLooks = 250 * time.Millisecond
	// Stillness is how long nothing may be written until the hub counts as quiet.
	Stillness = 3 * time.Second
	// Driver is the user agent of what makes objects and looks at them.
	Driver = "stage"
)

// isDriver picks its requests, which no figure counts.
var isDriver = count.By(Driver)

// IsHubWrite picks the writes that count: mutating requests of all but the driver, failed ones too, without Leases,
// Events and reviews.
func IsHubWrite(k count.Key) bool {
	return k.Write() && !count.Leases(k) && !count.Events(k) && !count.Reviews(k) && !isDriver(k)
}

// Record is what the hub's audit log holds, as far as it was read.
type Record struct {
	Entries []count.Entry
	log     *count.AuditLog
	isWrite func(count.Key) bool
}

// NewRecord begins with the hub's first request. isWrite picks the writes of the hub, for which quiet is waited.
func NewRecord(h *Hub, isWrite func(count.Key) bool) *Record {
	return RecordOf(h.AuditLog(), isWrite)
}

// RecordOf is that of another API server, by its audit log.
func RecordOf(auditLog string, isWrite func(count.Key) bool) *Record {
	return &Record{log: count.NewAuditLog(auditLog), isWrite: isWrite}
}

// Read takes up what is new, and returns it.
func (r *Record) Read() ([]count.Entry, error) {
	known := len(r.Entries)
	err := r.log.Read(func(e count.Entry) { r.Entries = append(r.Entries, e) })
	return r.Entries[known:], err
}

// AwaitStillness waits until the hub has written nothing for a while.
func (r *Record) AwaitStillness(ctx context.Context, still time.Duration) error {
	since, seen := time.Now(), ""
	return stage.AwaitEvery(ctx, BetweenLooks, "the hub to be quiet", func(context.Context) (bool, string, error) {
		fresh, err := r.Read()
		if err != nil {
			return false, "", err
		}
		for _, e := range fresh {
			if r.isWrite(e.Key) {
				since, seen = time.Now(), fmt.Sprintf("%s %s/%s", e.Key, e.Namespace, e.Name)
			}
		}
		return time.Since(since) >= still, seen, nil
	})
}

// LastWrite is when the hub wrote last.
func (r *Record) LastWrite() time.Time {
	for _, e := range slices.Backward(r.Entries) {
		if r.isWrite(e.Key) {
			return e.Answered
		}
	}
	return time.Time{}
}
