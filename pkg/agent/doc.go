// Package agent is the downstream side: a process that holds its cluster's registration with the hub, and deploys what the
// hub asks for. It puts the parts together; the parts are register (who we are to the hub), heartbeat (that we live), hub
// (how we speak to it), bundledeployment, drift and gc (what is deployed).
//
// Everything is done as the leader among the agent's pods, and by nobody else. It may import what lies below it, pkg/kube,
// pkg/helmdeployer and the pure packages.
package agent
