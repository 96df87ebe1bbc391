// Package canary looks for secret values where they must not be: as they are, encoded as programs encode them, and in what
// is compressed. A finding names the value and the place, never the value itself.
//
// It imports the standard library only.
package canary
