// Package bootstrap registers the hub with itself: a Cluster "local" with a kubeconfig for the hub's own API server, the
// ClusterGroup "default" that selects it, and the GitRepo that a configuration may name. From there on the local cluster
// is imported like any other.
//
// It is started by the hub's configuration, by changes of the two Secrets that it reads and writes, and when something
// that it made is deleted. What somebody edits is put right at the next of these. It may import the pure packages,
// pkg/kube, pkg/desired and the generated controllers.
package bootstrap
