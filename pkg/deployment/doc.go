// Package deployment builds a bundle's BundleDeployment on one cluster and the Secret with its Helm values, from a target
// and from what the rollout allows.
//
// Values are in the Secret alone, and the deployment names them by a digest. The Secret is written first. Where the values
// that a deployment runs with are not known, because their Secret is gone, nothing is written in their place: the
// deployment says that it waits.
//
// The package is pure and may import the API types, apimachinery and other pure packages.
package deployment
