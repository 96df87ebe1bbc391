// Package heartbeat tells the hub that the agent lives: it renews the Lease in the cluster's namespace, which also says
// which credential is in use, writes status.agent of the Cluster now and then, and looks for a renewed credential when
// the one in use is due.
//
// A failure is logged and tried again, never fatal. It may import pkg/agent/hub, pkg/agent/pace and the pure packages.
package heartbeat
