// Package clusterstatus tells in each Cluster how its bundles are: counts, states, and the condition Ready.
//
// It is started by changes of Clusters and of the BundleDeployments in their namespaces; what comes within a second is
// told at once. It may import the pure packages, pkg/kube and the generated controllers.
package clusterstatus
