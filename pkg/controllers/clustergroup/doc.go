// Package clustergroup counts the clusters that each ClusterGroup selects, and tells how their bundles are.
//
// It is started by changes of ClusterGroups, and of Clusters that belong to one, or did; what comes within a second is told
// at once. It may import the pure packages, pkg/kube and the generated controllers.
package clustergroup
