package join

import "github.com/rancher/fleet/e2e/bench"

// figure is a number of a run.
type figure = bench.Figure[Run]

// figures are all numbers that are kept with their spread.
func figures() []figure {
	list := []figure{
		{Key: "rate", Of: func(r Run) float64 { return r.Rate }},
		{Key: "p50", Of: func(r Run) float64 { return r.P50 }},
		{Key: "p99", Of: func(r Run) float64 { return r.P99 }},
		{Key: "max", Of: func(r Run) float64 { return r.Max }},
		{Key: "busyAfter", Of: func(r Run) float64 { return r.BusyAfter }},
		{Key: "writesPerJoin", Of: func(r Run) float64 { return r.WritesPerJoin }},
		{Key: "bundleWritesPerJoin", Of: func(r Run) float64 { return r.BundleWritesPerJoin }},
		{Key: "leasesPerJoin", Of: func(r Run) float64 { return r.LeasesPerJoin }},
		{Key: "eventsPerJoin", Of: func(r Run) float64 { return r.EventsPerJoin }},
		{Key: "readsPerJoin", Of: func(r Run) float64 { return r.ReadsPerJoin }},
		{Key: "agentWritesPerJoin", Of: func(r Run) float64 { return r.AgentWritesPerJoin }},
		{Key: "agentReadsPerJoin", Of: func(r Run) float64 { return r.AgentReadsPerJoin }},
		{Key: "watchEventsPerJoin", Of: func(r Run) float64 { return r.WatchEventsPerJoin }},
		{Key: "looks", Of: func(r Run) float64 { return r.Looks }},
		{Key: "cpuBound", Of: func(r Run) float64 { return r.CPUBound }},
		{Key: "coresOfOthers", Of: func(r Run) float64 { return r.CoresOfOthers }},
	}
	for _, process := range processes {
		list = append(list,
			figure{Key: "cpuPerJoin " + process, Of: func(r Run) float64 { return r.Use[process].CPU / float64(r.Joins) }},
			figure{Key: "peakMB " + process, Of: func(r Run) float64 { return r.Use[process].Peak }},
			figure{Key: "rssMB " + process, Of: func(r Run) float64 { return r.Use[process].RSS }},
		)
	}
	return list
}

// processes are what is looked at, in the order of the tables.
var processes = []string{
	bench.ProcessController, "kube-apiserver", "etcd", "kube-controller-manager", bench.ProcessBench,
}
