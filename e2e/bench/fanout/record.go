package fanout

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
)

const (
	// betweenLooks is the pause between two looks, which cost the machine something.
	betweenLooks = 250 * time.Millisecond
	// stillness is how long nothing may be written until the hub counts as quiet.
	stillness = 3 * time.Second
	// driver is the user agent of this program.
	driver = "stage"
)

// record is what the hub's audit log holds since it was forgotten last.
type record struct {
	log     *count.AuditLog
	entries []count.Entry
	created int
}

func newRecord(h *bench.Hub) *record { return &record{log: count.NewAuditLog(h.AuditLog())} }

// isWrite picks the writes that count.
func isWrite(k count.Key) bool {
	return k.Write() && !count.Leases(k) && !count.Events(k) && !count.Reviews(k) && k.UserAgent != driver
}

// isDeployment picks the creation of a deployment of one of the bundles.
func isDeployment(e count.Entry) bool {
	return e.Resource == "bundledeployments" && e.Verb == "create" && e.Code == http.StatusCreated
}

// isBundle picks the driver's own creations.
func isBundle(e count.Entry) bool {
	return e.Resource == "bundles" && e.Verb == "create" && e.UserAgent == driver
}

// read takes up what is new, and returns the last write among it.
func (r *record) read() (last string, err error) {
	err = r.log.Read(func(e count.Entry) {
		if isDeployment(e) {
			r.created++
		}
		if isWrite(e.Key) {
			last = fmt.Sprintf("%s %s/%s", e.Key, e.Namespace, e.Name)
		}
		if isWrite(e.Key) || isBundle(e) {
			r.entries = append(r.entries, e)
		}
	})
	return last, err
}

func (r *record) forget() { r.entries, r.created = nil, 0 }

func (r *record) awaitDeployments(ctx context.Context, want int) error {
	return stage.AwaitEvery(ctx, betweenLooks, "all deployments", func(context.Context) (bool, string, error) {
		_, err := r.read()
		return r.created >= want, fmt.Sprintf("%d of %d", r.created, want), err
	})
}

// awaitStillness waits until nothing has been written for a while.
func (r *record) awaitStillness(ctx context.Context) error {
	since, seen := time.Now(), ""
	return stage.AwaitEvery(ctx, betweenLooks, "the hub to be quiet", func(context.Context) (bool, string, error) {
		last, err := r.read()
		if last != "" {
			since, seen = time.Now(), last
		}
		return time.Since(since) >= stillness, seen, err
	})
}

// summarize sums up what was read from the first bundle on.
func (r *record) summarize(o Options) Run {
	run := Run{Clusters: o.Clusters, Bundles: o.Bundles}
	writes := count.Counts{}
	var first, last, quiet time.Time
	for _, e := range r.entries {
		if isBundle(e) {
			if first.IsZero() || e.Received.Before(first) {
				first = e.Received
			}
			continue
		}
		writes[e.Key]++
		if isDeployment(e) && e.Answered.After(last) {
			last = e.Answered
		}
		if e.Answered.After(quiet) {
			quiet = e.Answered
		}
	}
	n := float64(o.Clusters * o.Bundles)
	run.Took = last.Sub(first).Seconds()
	run.Rate = n / run.Took
	run.BusyAfter = quiet.Sub(last).Seconds()
	run.WritesPerDeployment = float64(writes.Total()) / n
	run.Writes = writes.String()
	return run
}

// sight is what was used at a time.
type sight struct {
	at   time.Time
	use  map[string]bench.Usage
	busy float64
}

func look(h *bench.Hub) (sight, error) {
	use, err := h.Usage()
	if err != nil {
		return sight{}, err
	}
	busy, err := bench.BusyCPU()
	return sight{at: time.Now(), use: use, busy: busy}, err
}

func (s sight) usedSince(earlier sight) map[string]bench.Usage {
	out := map[string]bench.Usage{}
	for name, use := range s.use {
		out[name] = use.Since(earlier.use[name])
	}
	return out
}

// othersSince is how many processors were busy with nothing of this.
func (s sight) othersSince(earlier sight) float64 {
	others := s.busy - earlier.busy
	for _, use := range s.usedSince(earlier) {
		others -= use.CPU
	}
	return max(0, others/s.at.Sub(earlier.at).Seconds())
}
