// Package drift compares what a bundle set on the cluster with what is there, and watches for changes of it.
//
// The comparison is pure: Compile prepares what a release set, Examine looks at one live object, Status sums up. It asks
// whether what we set still holds; what the API server, a controller or a webhook added is no difference. Watches keeps
// one watch for each kind, shared by all bundles, of metadata alone, and remembers of each object no more than what was
// found when it was last read; Status reads again only what has changed since.
//
// It may import client-go, pkg/kube and the pure packages. It writes nothing to the cluster: to tell a change by
// others from a value that the server writes in its own way, it asks the server by a dry run.
package drift
