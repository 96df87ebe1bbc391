package hub

import "time"

// Session is a credential in use, and which cluster it speaks for.
type Session struct {
	*Client
	// Workspace and Cluster name the Cluster on the hub, DeploymentNamespace is the cluster's namespace there.
	Workspace, Cluster, DeploymentNamespace string
	// Digest names the token, Fingerprint the agent's key; it is empty where the agent has none.
	Digest, Fingerprint string
	// IssuedAt and Expires are zero where the token does not say.
	IssuedAt, Expires time.Time
}
