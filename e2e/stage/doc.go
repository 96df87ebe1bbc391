// Package stage puts the product onto control planes of the lab: charts with the real Helm, the hub's controller and the
// agents as processes with exactly the rights of their service accounts, and clusters that join in each of the three
// ways. The demo, the suites and the benchmarks stand on it. What tests alone need is in suite.go (one copy of the product
// for a package's tests), shared.go (what they have in common) and testing.go (waits, ends, full counts).
//
// It imports the lab and Helm's SDK. It speaks to the product through the API server and the command line only.
package stage
