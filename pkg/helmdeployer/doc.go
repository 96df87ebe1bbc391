// Package helmdeployer makes a bundle a Helm release on the cluster that the agent serves, keeps it as it was applied, and
// reads back what it deployed. It is the only importer of Helm's actions.
//
// It may import the pure packages, pkg/kube, Helm, kustomize and client-go; never a controller, the agent or the command.
package helmdeployer
