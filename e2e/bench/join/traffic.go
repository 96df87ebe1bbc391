package join

import (
	"cmp"
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
	Failed  int     `json:"failed,omitempty"`
	PerJoin float64 `json:"perJoin"`
}

// Traffic is what the joins cost the hub's API server, until it was quiet again.
type Traffic struct {
	// WritesPerJoin are all mutating requests by others than the agents, without Leases, Events and reviews.
	WritesPerJoin float64 `json:"writesPerJoin"`
	// BundleWritesPerJoin are those up to the agent's bundle, without what brings it to the cluster.
	BundleWritesPerJoin float64 `json:"bundleWritesPerJoin"`
	// LeasesPerJoin and EventsPerJoin are the writes that WritesPerJoin leaves out; AgentWritesPerJoin are the agents' own.
	LeasesPerJoin      float64 `json:"leasesPerJoin"`
	EventsPerJoin      float64 `json:"eventsPerJoin"`
	AgentWritesPerJoin float64 `json:"agentWritesPerJoin"`
	// ReadsPerJoin are the reads of others than the agents, AgentReadsPerJoin the agents' own.
	ReadsPerJoin      float64 `json:"readsPerJoin"`
	AgentReadsPerJoin float64 `json:"agentReadsPerJoin"`
	// WatchEventsPerJoin are the events that the API server sent to all watchers.
	WatchEventsPerJoin float64 `json:"watchEventsPerJoin"`
	// Writes and Reads are all of them in single lines, those of the agents among them.
	Writes []Line `json:"writes,omitempty"`
	Reads  []Line `json:"reads,omitempty"`
}

// isAgents and isBystanders are the synthetic agents, and the driver that looks at the hub now and then.
var (
	isAgents     = count.By(userAgent)
	isBystanders = count.By("stage")
)

// isHubWrite picks the writes that count.
func isHubWrite(k count.Key) bool {
	return k.Write() && !count.Leases(k) && !count.Events(k) && !count.Reviews(k) && !isAgents(k) && !isBystanders(k)
}

// isDelivery picks what comes after the agent's bundle: its finalizer and status, its Content and its deployment.
func isDelivery(k count.Key) bool {
	switch k.Resource {
	case "contents", "bundledeployments":
		return true
	case "bundles":
		return k.Verb != "create"
	}
	return false
}

// trafficOf sorts the requests of n joins.
func trafficOf(entries []count.Entry, n int) Traffic {
	requests, failures := count.Counts{}, count.Counts{}
	for _, e := range entries {
		if isBystanders(e.Key) || count.Reviews(e.Key) {
			continue
		}
		requests[e.Key]++
		if e.Code >= http.StatusBadRequest {
			failures[e.Key]++
		}
	}
	per := func(c count.Counts) float64 { return float64(c.Total()) / float64(n) }
	agents, others := requests.Where(isAgents), requests.Without(isAgents)
	return Traffic{
		WritesPerJoin:       per(requests.Where(isHubWrite)),
		BundleWritesPerJoin: per(requests.Where(isHubWrite).Without(isDelivery)),
		LeasesPerJoin:       per(others.Writes().Where(count.Leases)),
		EventsPerJoin:       per(others.Writes().Where(count.Events)),
		AgentWritesPerJoin:  per(agents.Writes()),
		ReadsPerJoin:        per(others.Reads()),
		AgentReadsPerJoin:   per(agents.Reads()),
		Writes:              lines(requests.Writes(), failures, n),
		Reads:               lines(requests.Reads(), failures, n),
	}
}

// lines puts requests together whatever the user, the most frequent first.
func lines(requests, failures count.Counts, n int) []Line {
	type kind struct{ client, verb, resource string }
	sums := map[kind]Line{}
	for key, number := range requests {
		k := kind{clientOf(key), key.Verb, key.Resource}
		if key.Subresource != "" {
			k.resource += "/" + key.Subresource
		}
		line := sums[k]
		line.Count, line.Failed = line.Count+number, line.Failed+failures[key]
		sums[k] = line
	}
	out := make([]Line, 0, len(sums))
	for k, line := range sums {
		line.UserAgent, line.Verb, line.Resource = k.client, k.verb, k.resource
		line.PerJoin = float64(line.Count) / float64(n)
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

// clientOf is who asked. The lab's components are one binary, which their users tell apart.
func clientOf(key count.Key) string {
	switch key.User {
	case "system:apiserver":
		return "kube-apiserver"
	case "system:kube-controller-manager":
		return "kube-controller-manager"
	}
	return key.UserAgent
}
