package join

import (
	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
)

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
	Writes []bench.Line `json:"writes,omitempty"`
	Reads  []bench.Line `json:"reads,omitempty"`
}

// isAgents picks what the synthetic agents ask for.
var isAgents = count.By(userAgent)

// isHubWrite picks the writes that count.
func isHubWrite(k count.Key) bool { return bench.IsHubWrite(k) && !isAgents(k) && !isFlood(k) }

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
	requests := bench.RequestsOf(entries)
	per := func(c count.Counts) float64 { return float64(c.Total()) / float64(n) }
	agents, others := requests.All.Where(isAgents), requests.All.Without(isAgents).Without(isFlood)
	return Traffic{
		WritesPerJoin:       per(requests.All.Where(isHubWrite)),
		BundleWritesPerJoin: per(requests.All.Where(isHubWrite).Without(isDelivery)),
		LeasesPerJoin:       per(others.Writes().Where(count.Leases)),
		EventsPerJoin:       per(others.Writes().Where(count.Events)),
		AgentWritesPerJoin:  per(agents.Writes()),
		ReadsPerJoin:        per(others.Reads()),
		AgentReadsPerJoin:   per(agents.Reads()),
		Writes:              requests.Lines(requests.All.Writes(), n),
		Reads:               requests.Lines(requests.All.Reads(), n),
	}
}
