// Package conditions sets and reads the conditions of a status: times that move only when something moved, messages that
// stay bounded.
//
// The package is pure. It may import apimachinery and wrangler's genericcondition, nothing else.
package conditions
