package bench

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/rancher/fleet/e2e/count"
)

// Line is one kind of request.
type Line struct {
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Count     int    `json:"count"`
	// Failed of them were answered with an error, a conflict for example.
	Failed int `json:"failed,omitempty"`
	// Per is how many there were for each of what was measured.
	Per float64 `json:"per"`
}

// Requests are kinds of requests, those of one kind counted and those that failed apart.
type Requests struct {
	All    count.Counts
	failed count.Counts
}

// RequestsOf counts what others than the driver asked for, without reviews.
func RequestsOf(entries []count.Entry) Requests {
	r := Requests{All: count.Counts{}, failed: count.Counts{}}
	for _, e := range entries {
		if isDriver(e.Key) || count.Reviews(e.Key) {
			continue
		}
		r.All[e.Key]++
		if e.Code >= http.StatusBadRequest {
			r.failed[e.Key]++
		}
	}
	return r
}

// Lines puts some of the requests together whatever the user, the most frequent first. There were n of what is measured.
func (r Requests) Lines(some count.Counts, n int) []Line {
	type kind struct{ client, verb, resource string }
	sums := map[kind]Line{}
	for key, number := range some {
		k := kind{ClientOf(key), key.Verb, key.Resource}
		if key.Subresource != "" {
			k.resource += "/" + key.Subresource
		}
		line := sums[k]
		line.Count, line.Failed = line.Count+number, line.Failed+r.failed[key]
		sums[k] = line
	}
	out := make([]Line, 0, len(sums))
	for k, line := range sums {
		line.UserAgent, line.Verb, line.Resource = k.client, k.verb, k.resource
		line.Per = float64(line.Count) / float64(n)
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.UserAgent, b.UserAgent),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb),
		)
	})
	return out
}

// ClientOf is who asked. The lab's components are one binary, which their users tell apart.
func ClientOf(key count.Key) string {
	switch key.User {
	case "system:apiserver":
		return "kube-apiserver"
	case "system:kube-controller-manager":
		return "kube-controller-manager"
	}
	return key.UserAgent
}

// LinesTable writes the lines under a title; per says of what there are so many.
func LinesTable(out io.Writer, title, per string, lines []Line) {
	Table(out, title, "by", "verb", "resource", "per "+per, "of them failed")
	for _, line := range lines {
		Row(out, line.UserAgent, line.Verb, line.Resource, fmt.Sprintf("%.2f", line.Per), fmt.Sprint(line.Failed))
	}
}
