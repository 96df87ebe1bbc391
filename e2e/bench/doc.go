// Package bench is what all benchmarks have in common: a hub to measure on, the machine that it runs on, what processes
// use, and figures with their spread. Each benchmark is a package below it.
//
// It imports the lab, the stage and the shim.
package bench
