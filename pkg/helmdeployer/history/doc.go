// Package history keeps the records of Helm releases: where Helm keeps them, as Helm writes them, so that its own command
// and other agents read them. Other than Helm's storage it reads a release's records once an operation, writes only what
// nobody else has changed in the meantime, and keeps of a chart only what tells which it was.
//
// It may import Helm's release packages, client-go and pkg/names.
package history
