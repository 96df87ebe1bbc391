// Package agentmanifest turns one value, Options, into the objects of an agent on a downstream cluster. The import
// applies them there and the agent's own bundle carries them: both call this package, so that the pod template is the
// same to the byte and the bundle that adopts a running agent restarts nothing.
//
// The package is pure: no client, no clock, no environment. It may import pkg/names, pkg/config, pkg/apis, the Kubernetes
// API types, wrangler's yaml package and the standard library.
package agentmanifest
