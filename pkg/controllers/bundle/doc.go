// Package bundle brings every Bundle to the clusters that it targets: its Content, and for each cluster a
// BundleDeployment and the Secret with its values, as far as the rollout allows; it removes what is provably no longer
// wanted, and says in the Bundle's status how far it is.
//
// It is started by changes of Bundles and of their deployments, and by those of clusters, groups, namespaces, mappings and
// Secrets that can change what a bundle targets; never by a heartbeat. It may import the pure packages, pkg/kube and the
// generated controllers.
package bundle
