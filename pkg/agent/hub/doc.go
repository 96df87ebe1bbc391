// Package hub is the hub as an agent sees it: the few calls that an agent makes there, each with a deadline, what an
// answer means, and a Session, which is a credential in use. Nothing here decides or retries.
//
// It may import the API types, the pure packages, pkg/kube and client-go.
package hub
