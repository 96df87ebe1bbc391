// Package render makes the files of a bundle what Helm installs: a chart, and a post-renderer that adds plain manifests,
// runs kustomize, puts objects into their namespaces and marks them as the bundle's. It talks to no cluster.
//
// It may import the pure packages, Helm's chart packages and kustomize; never a client.
package render
