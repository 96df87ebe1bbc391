// Package register gives the agent its credential and keeps it: it watches the agent's own Secrets, decides whether the
// stored credential is used or another is asked for, makes the handshake with the hub, and stores what that brought.
//
// It reads in three parts. Decide (decide.go) is pure: what is known → what to do. Supervisor observes and acts; it alone
// writes the credential and deletes the bootstrap secret. handshake asks the hub for one credential and writes nothing
// but how far it has come, so that a crash resumes the same request.
//
// It may import pkg/agent/hub, pkg/agent/pace, pkg/kube, the pure packages and client-go.
package register
