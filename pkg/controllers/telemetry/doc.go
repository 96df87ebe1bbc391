// Package telemetry makes known how registration and delivery go: it turns changes of Clusters, registration
// requests, registration tokens, Bundles and BundleDeployments into Events for people and into figures for programs. It only looks on. It writes nothing but
// Events, and nobody waits for it: it is told by the informers beside the controllers, decides in memory, and leaves out
// what is beyond its bounds.
//
// What a change means is one pure table (change.go, request.go, cluster.go, token.go, bundle.go). docs/events.md and docs/metrics.md
// have all of it in words.
//
// It may import the pure packages, pkg/kube and client-go.
package telemetry
