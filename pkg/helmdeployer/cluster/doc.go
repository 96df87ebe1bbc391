// Package cluster is how Helm reaches the cluster that is deployed to: connections on behalf of the agent or of a service
// account, one cache of what the API server serves for all of them, and a client for Helm's actions that applies
// definitions before the objects that need them, waits no longer than it is told, and removes nothing of another release.
//
// It may import pkg/kube, Helm's kube package and client-go.
package cluster
