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

// isDeployment picks the creation of a deployment.
func isDeployment(e count.Entry) bool {
	return e.Resource == "bundledeployments" && e.Verb == "create" && e.Code == http.StatusCreated
}

// isBundle picks the driver's own creations.
func isBundle(e count.Entry) bool {
	return e.Resource == "bundles" && e.Verb == "create" && e.UserAgent == bench.Driver
}

// awaitDeployments waits until so many deployments were created since the record had the first entries.
func awaitDeployments(ctx context.Context, r *bench.Record, first, want int) error {
	created, next := 0, first
	return stage.AwaitEvery(ctx, bench.BetweenLooks, "all deployments", func(context.Context) (bool, string, error) {
		_, err := r.Read()
		for ; next < len(r.Entries); next++ {
			if isDeployment(r.Entries[next]) {
				created++
			}
		}
		return created >= want, fmt.Sprintf("%d of %d", created, want), err
	})
}

// span is when the first bundle arrived, when the last deployment was answered, and when the hub wrote last.
type span struct{ first, last, quiet time.Time }

func spanOf(entries []count.Entry) span {
	var s span
	for _, e := range entries {
		switch {
		case isBundle(e):
			if s.first.IsZero() || e.Received.Before(s.first) {
				s.first = e.Received
			}
			continue
		case !bench.IsHubWrite(e.Key):
			continue
		case isDeployment(e) && e.Answered.After(s.last):
			s.last = e.Answered
		}
		if e.Answered.After(s.quiet) {
			s.quiet = e.Answered
		}
	}
	return s
}

// summarize sums up what was read from the first bundle on.
func summarize(o Options, entries []count.Entry) Run {
	run := Run{Clusters: o.Clusters, Bundles: o.Bundles}
	n := o.Clusters * o.Bundles
	s := spanOf(entries)
	run.Took = s.last.Sub(s.first).Seconds()
	run.Rate = float64(n) / run.Took
	run.BusyAfter = s.quiet.Sub(s.last).Seconds()
	requests := bench.RequestsOf(entries)
	run.WritesPerDeployment = float64(requests.All.Where(bench.IsHubWrite).Total()) / float64(n)
	run.Writes = requests.Lines(requests.All.Writes(), n)
	run.Reads = requests.Lines(requests.All.Reads(), n)
	late := 0
	for _, e := range entries {
		if bench.IsHubWrite(e.Key) && e.Received.After(s.last.Add(quietAfter)) {
			late++
		}
	}
	run.QuietWrites = float64(late) / quietFor.Seconds()
	return run
}
