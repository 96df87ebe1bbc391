// Package preflight looks, before a cluster joins, at everything that joining it needs: from a kubeconfig as the hub would
// use it, or from the values of a registration token as the agent would. Each check has a result, what was found, and what
// to do about it. docs/check.md lists the checks.
//
// What is asked of servers (trip, caller and the observe functions) is apart from what follows from the answers (functions
// that return a finding, and that have no client and no clock). A server, a kubeconfig and a values document are not
// trusted: answers are bounded, redirects are not followed, and what they say is shown as printable text without the
// credentials that are known. Nothing is written anywhere.
//
// It may import the pure packages, pkg/kube and client-go; never a controller, the agent or the command.
package preflight
