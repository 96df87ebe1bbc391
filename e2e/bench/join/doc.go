// Package join measures how fast clusters join: synthetic agents go through the handshake of an agent-initiated
// registration against a hub of the lab, each with its own key and its own connections, by the product's own code where
// that stands apart from a downstream API server.
//
// A join lasts from the first create of the ClusterRegistration to the first authenticated list of BundleDeployments.
// The package imports bench, stage, count and of the product what an agent is made of.
package join
