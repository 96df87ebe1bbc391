// Package names holds every name that is part of the contract with a cluster: namespaces, labels, annotations, secrets
// and their keys, accounts, and the functions that derive one name from another. docs/contract.md lists them for
// operators. A name that stands in an existing installation is an interface: it is never changed, only added to.
//
// The package is pure. It may import wrangler's name package, apimachinery and the standard library, nothing else of this
// project.
package names
