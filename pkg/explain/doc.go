// Package explain tells people how far the registration of a cluster has come: from the objects that a hub has of it, the
// steps of the handshake with their state and time, what is awaited and who ends it, the credentials that end some day,
// and what a person may decide about a request. docs/registration.md tells the same as a story.
//
// The package is pure: what it is not given to read it calls unknown, and the clock is an input. It may import the API
// types, apimachinery, the other pure packages and the standard library.
package explain
