// Package desired makes a set of objects exist as its owner wants them: a thin, safe wrapper on wrangler's apply engine.
// A set declares every kind that it may ever hold, so that nothing that drops out of it is forgotten; an empty set is
// never an accident; and a set that is already so costs a look at the cache.
//
// It may import the pure packages, kube and wrangler; never a controller.
package desired
