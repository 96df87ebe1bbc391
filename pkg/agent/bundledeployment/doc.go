// Package bundledeployment is what an agent does with the BundleDeployments of its cluster: it deploys them, watches what
// was deployed, puts right what others changed, reports, and removes what the hub no longer has.
//
// A Reconciler works as long as the agent leads; a session with the hub comes and goes, with each credential. Each
// BundleDeployment is handled by itself: it waits, fails and is tried again without holding up another. What a pass does
// is in reconcile.go, in its order; what is decided without a look at anything is in decide.go, status.go and depends.go.
//
// Nothing is removed because something is missing in a cache, a list or a Content: see remove.go.
//
// It may import pkg/helmdeployer, other packages of the agent, pkg/kube, client-go and the pure packages.
package bundledeployment
