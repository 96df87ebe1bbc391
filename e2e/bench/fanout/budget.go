package fanout

import "github.com/rancher/fleet/e2e/bench"

// figure is a number of a run.
type figure struct {
	bench.Figure[Run]
	name string
	// budget is what the median has to reach at a size; nil if there is none.
	budget func(clusters, bundles int) *bench.Budget
}

// figures are all numbers that are kept with their spread, in the order of the tables.
func figures() []figure {
	of := func(key, name string, of func(Run) float64, budget func(clusters, bundles int) *bench.Budget) figure {
		return figure{Figure: bench.Figure[Run]{Key: key, Of: of}, name: name, budget: budget}
	}
	return []figure{
		of("rate", "deployments a second", func(r Run) float64 { return r.Rate }, rateBudget),
		of("writesPerDeployment", "hub writes per deployment", func(r Run) float64 { return r.WritesPerDeployment }, writesBudget),
		of("controllerPeakMB", "controller's memory, peak, MB", func(r Run) float64 { return r.Use[bench.ProcessController].Peak }, memoryBudget),
		of("controllerMB", "controller's memory at the end, MB", func(r Run) float64 { return r.Use[bench.ProcessController].RSS }, nil),
		of("quietWrites", "writes a second, from 10 s on", func(r Run) float64 { return r.QuietWrites }, quietBudget),
		of("took", "time up to the last deployment, s", func(r Run) float64 { return r.Took }, nil),
		of("busyAfter", "hub busy afterwards, s", func(r Run) float64 { return r.BusyAfter }, nil),
		of("whole", "time up to the last write, s", func(r Run) float64 { return r.Took + r.BusyAfter }, nil),
		of("controllerCPU", "controller's processor time per deployment, ms", perDeployment(bench.ProcessController), nil),
		of("apiserverCPU", "API server's processor time per deployment, ms", perDeployment(processAPIServer), nil),
		of("allCPU", "processor time of all processes per deployment, ms", allPerDeployment, nil),
		of("rateOfProcessors", "deployments a second that the processors allow", func(r Run) float64 { return r.CPUBound }, nil),
		of("coresOfOthers", "cores taken by others", func(r Run) float64 { return r.CoresOfOthers }, nil),
	}
}

// processAPIServer is the lab's name for it.
const processAPIServer = "kube-apiserver"

func perDeployment(process string) func(Run) float64 {
	return func(r Run) float64 { return 1000 * r.Use[process].CPU / float64(r.Clusters*r.Bundles) }
}

// allPerDeployment is that of the hub's processes and the controller until the hub is quiet.
func allPerDeployment(r Run) float64 {
	all := 0.0
	for name, use := range r.Use {
		if name != bench.ProcessBench {
			all += use.CPU
		}
	}
	return 1000 * all / float64(r.Clusters*r.Bundles)
}

// rateBudget and the others are of one machine with two cores that hub and controller share.
func rateBudget(clusters, _ int) *bench.Budget {
	if clusters != 50 && clusters != 200 {
		return nil
	}
	return &bench.Budget{Value: 250, AtLeast: true}
}

func writesBudget(int, int) *bench.Budget { return &bench.Budget{Value: 2.2} }

func quietBudget(int, int) *bench.Budget { return &bench.Budget{} }

// memoryBudget has a figure for two sizes only.
func memoryBudget(clusters, bundles int) *bench.Budget {
	switch {
	case clusters == 50 && bundles == 20:
		return &bench.Budget{Value: 120}
	case clusters == 200 && bundles == 20:
		return &bench.Budget{Value: 250}
	}
	return nil
}
