// Package manageagent writes the bundle that keeps a cluster's agent current: one for each Cluster that has registered,
// from the same options as the import, so that taking over the running agent restarts nothing.
//
// What a whole hub changes, such as the image, reaches the agents in waves: wave.go is the policy, table.go what it looks at.
// Condition AgentUpgraded is written here and nowhere else.
//
// It is started by changes of Clusters and of the configuration. It may import the pure packages, pkg/kube, pkg/desired
// and the generated controllers.
package manageagent
