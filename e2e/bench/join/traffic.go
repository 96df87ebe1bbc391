package join

import (
	"cmp"
	"slices"

	"github.com/rancher/fleet/e2e/count"
)

// Line is one kind of request.
type Line struct {
	UserAgent string  `json:"userAgent"`
	Verb      string  `json:"verb"`
	Resource  string  `json:"resource"`
	Count     int     `json:"count"`
	PerJoin   float64 `json:"perJoin"`
}

// Traffic is what the joins cost the hub's API server, until it was quiet again.
type Traffic struct {
	// WritesPerJoin are all mutating requests by others than the agents, without Leases, Events and reviews.
	WritesPerJoin float64 `json:"writesPerJoin"`
	// LeasesPerJoin and EventsPerJoin are the writes that WritesPerJoin leaves out; AgentWritesPerJoin are the agents' own.
	LeasesPerJoin      float64 `json:"leasesPerJoin"`
	EventsPerJoin      float64 `json:"eventsPerJoin"`
	AgentWritesPerJoin float64 `json:"agentWritesPerJoin"`
	// ReadsPerJoin are the reads of others than the agents, AgentReadsPerJoin the agents' own.
	ReadsPerJoin      float64 `json:"readsPerJoin"`
	AgentReadsPerJoin float64 `json:"agentReadsPerJoin"`
	// Writes and Reads are all of them in single lines, those of the agents among them.
	Writes []Line `json:"writes"`
	Reads  []Line `json:"reads"`
}

// bystander is the driver itself, which looks at the hub now and then.
var bystander = count.By("stage")

// hubWrites are the writes that count.
func hubWrites(c count.Counts) count.Counts {
	return c.Writes().Without(count.Leases, count.Events, count.Reviews, count.By(userAgent), bystander)
}

// trafficOf sorts the requests of n joins.
func trafficOf(requests count.Counts, n int) Traffic {
	requests = requests.Without(bystander)
	per := func(c count.Counts) float64 { return float64(c.Total()) / float64(n) }
	agents := requests.Where(count.By(userAgent))
	others := requests.Without(count.By(userAgent))
	return Traffic{
		WritesPerJoin:      per(hubWrites(requests)),
		LeasesPerJoin:      per(others.Writes().Where(count.Leases)),
		EventsPerJoin:      per(others.Writes().Where(count.Events)),
		AgentWritesPerJoin: per(agents.Writes()),
		ReadsPerJoin:       per(others.Reads()),
		AgentReadsPerJoin:  per(agents.Reads()),
		Writes:             lines(requests.Writes().Without(count.Reviews), n),
		Reads:              lines(requests.Reads(), n),
	}
}

// lines puts requests together whatever the user, the most frequent first.
func lines(requests count.Counts, n int) []Line {
	sums := map[Line]int{}
	for key, number := range requests {
		resource := key.Resource
		if key.Subresource != "" {
			resource += "/" + key.Subresource
		}
		sums[Line{UserAgent: client(key), Verb: key.Verb, Resource: resource}] += number
	}
	out := make([]Line, 0, len(sums))
	for line, number := range sums {
		line.Count, line.PerJoin = number, float64(number)/float64(n)
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

// client is who asked. The lab's components are one binary, which its users tell apart.
func client(key count.Key) string {
	switch key.User {
	case "system:apiserver":
		return "kube-apiserver"
	case "system:kube-controller-manager":
		return "kube-controller-manager"
	}
	return key.UserAgent
}
