// Package sandbox executes templates that other people wrote, for every cluster anew, inside the hub. So that none of them
// can hold it up or change its mind:
//
//   - time and memory have a budget. It is counted in bytes that functions read and make, not in seconds, so that the
//     same template fails everywhere or nowhere;
//   - the output is bounded;
//   - the same input gives the same output. Functions that read a clock, a random source, the environment or the
//     network say so instead of doing it;
//   - the data that a template gets is a copy, which it may change.
//
// The package is pure. It may import the template functions of sprig and the standard library.
package sandbox
