// Package registration is what hub and agent agree on to register a cluster: the documents that pass between them and
// their checks, the sealing of a credential to the key of the agent that asked for it, and the form of a heartbeat.
// docs/registration.md tells the protocol as a story.
//
// The package is pure: no client, no clock, no environment; randomness is an input. It may import the API types,
// apimachinery, pkg/names and the standard library.
package registration
