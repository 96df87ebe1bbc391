// Package kube is the only place that builds rest configs, lasso factories and the apply engine: the hub's clients and
// caches, a client of a downstream cluster, leader election, work queues beside lasso, the one way to write a status, and
// the endpoints for metrics and health.
//
// It may import the pure packages, the generated controllers, client-go, lasso and wrangler; never a controller or the
// agent.
package kube
