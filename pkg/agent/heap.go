package agent

import (
	"runtime/debug"
)

// heapGrowth is by how many percent the heap may grow until it is collected. An agent has little to do most of the time
// and shares its machine with the workloads: less memory is worth more to them than the processor time that it costs.
const heapGrowth = 30

// saveMemory keeps the heap small, unless whoever runs the agent has said otherwise.
func saveMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
