// Package cluster gives every Cluster its place on the hub: a client ID where the hub is to import it, its namespace and
// the Lease for its heartbeat; and takes all of that away when the Cluster is deleted, after what bundles brought to its
// cluster where that is to go first. A Cluster that was revoked gets another namespace when it is readmitted. Where one
// cluster is behind several Clusters it says so.
//
// It is started by changes of Clusters, of their namespaces and Leases, and, while a Cluster is being deleted, of the
// registrations, accounts and deployments that are still there. It may import the pure packages, pkg/kube, pkg/desired and
// the generated controllers.
package cluster
