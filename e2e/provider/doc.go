// Package provider makes clusters with nodes for the suite of pods, as providers of sigs.k8s.io/e2e-framework: those of the
// lab, which runs anywhere where containerd and runc are, and those of k3d, which need Docker.
//
// It imports the lab and the framework, and nothing of the product.
package provider
