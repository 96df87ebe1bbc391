// Package agent is the downstream side: a process that holds its cluster's registration with the hub. It puts the parts
// together; the parts are register (who we are to the hub), heartbeat (that we live) and hub (how we speak to it).
//
// Everything is done as the leader among the agent's pods, and by nobody else. It may import what lies below it, pkg/kube
// and the pure packages.
package agent
