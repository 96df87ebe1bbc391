// Package permissions is who may do what, as data: matrix.yaml. It reads the data, says which attempts an identity makes
// and how they must end, compares rules, and writes the table of docs/security.md. The suite of the same name makes the
// attempts on real API servers.
//
// It is pure: it imports the API types and sigs.k8s.io/yaml only.
package permissions
