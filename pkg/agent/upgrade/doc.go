// Package upgrade watches over the agent's own upgrade. Kubernetes makes the new pod and keeps the old one until the new
// one is ready, but it rolls nothing back and tells nobody: the old agent, which still leads, reports what is in the new
// pod's way, and takes back a new pod that crashes again and again or whose image cannot be pulled, once for each
// GENERATION.
//
// judge.go is pure: the objects → what to report and whether to take back. It may import pkg/agent/ready, pkg/agent/pace,
// the pure packages and client-go.
package upgrade
