package join

import "github.com/rancher/fleet/e2e/bench"

// figure is a number that a run has.
type figure struct {
	// key names it in the JSON.
	key string
	of  func(r Run) float64
}

// figures are all numbers that are kept with their spread.
func figures() []figure {
	list := []figure{
		{"rate", func(r Run) float64 { return r.Rate }},
		{"p50", func(r Run) float64 { return r.P50 }},
		{"p99", func(r Run) float64 { return r.P99 }},
		{"max", func(r Run) float64 { return r.Max }},
		{"busyAfter", func(r Run) float64 { return r.BusyAfter }},
		{"writesPerJoin", func(r Run) float64 { return r.WritesPerJoin }},
		{"bundleWritesPerJoin", func(r Run) float64 { return r.BundleWritesPerJoin }},
		{"leasesPerJoin", func(r Run) float64 { return r.LeasesPerJoin }},
		{"eventsPerJoin", func(r Run) float64 { return r.EventsPerJoin }},
		{"readsPerJoin", func(r Run) float64 { return r.ReadsPerJoin }},
		{"agentWritesPerJoin", func(r Run) float64 { return r.AgentWritesPerJoin }},
		{"agentReadsPerJoin", func(r Run) float64 { return r.AgentReadsPerJoin }},
		{"watchEventsPerJoin", func(r Run) float64 { return r.WatchEventsPerJoin }},
		{"looks", func(r Run) float64 { return r.Looks }},
		{"cpuBound", func(r Run) float64 { return r.CPUBound }},
		{"coresOfOthers", func(r Run) float64 { return r.CoresOfOthers }},
	}
	for _, process := range processes {
		list = append(list,
			figure{"cpuPerJoin " + process, func(r Run) float64 { return r.Use[process].CPU / float64(r.Joins) }},
			figure{"peakMB " + process, func(r Run) float64 { return r.Use[process].Peak }},
			figure{"rssMB " + process, func(r Run) float64 { return r.Use[process].RSS }},
		)
	}
	return list
}

// processes are what is looked at, in the order of the tables.
var processes = []string{
	bench.ProcessController, "kube-apiserver", "etcd", "kube-controller-manager", bench.ProcessBench,
}
