// Package clusterregistration answers the requests of agents: it finds or creates the Cluster that a request is for,
// decides whether it may be granted, and grants an account, its permissions and a credential that only the asking agent
// can open. A grant is a desired state like any other and is repaired, until the request is gone or its cluster revoked.
//
// It is started by changes of requests, of the accounts and bindings that they were granted, of Clusters and of import
// accounts. It may import the pure packages, pkg/kube, pkg/desired and the generated controllers.
package clusterregistration
