// Package cleanup takes away what is left of clusters, registrations and tokens that are gone: what their own controllers
// would have removed, had the hub been running at the time.
//
// It is started by events of what it may remove (all of it, at a start) and looks at everything again every ten minutes.
// It removes only what says whose it was, and only after the API server itself has said that this owner does not exist
// any more; in doubt it keeps. It may import the pure packages, pkg/kube and the generated controllers.
package cleanup
