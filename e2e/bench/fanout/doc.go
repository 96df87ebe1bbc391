// Package fanout measures how fast a hub brings bundles to clusters: B bundles, all created at once, for N registered
// clusters that exist on the hub alone. What is measured ends at the BundleDeployments; there are no agents. Definitions are
// in bench/README.md.
//
// It imports the bench package, the stage and the product's API types.
package fanout
