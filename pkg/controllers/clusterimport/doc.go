// Package clusterimport puts the agent into clusters that the hub has a kubeconfig for, the local one among them, and
// puts it there again when its settings change or when it is gone, silent or refused.
//
// It marks the agent's namespace there as one Cluster's, so that two whose kubeconfigs lead to one place do not take turns.
//
// Calls to a foreign cluster run in a queue of their own with a deadline for each, so that a cluster which never answers
// holds nothing that others need. The queue is fed when something changed that a decision rests on; a failure comes back
// with a delay of its own cluster.
//
// It may import the pure packages, pkg/kube and the generated controllers.
package clusterimport
