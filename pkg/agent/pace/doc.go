// Package pace is how the agent waits: back-off with jitter, a pause that ends with its context, a call that repeats.
// Clock and randomness are inputs. It may import the standard library and k8s.io/utils/clock.
package pace
