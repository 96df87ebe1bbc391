// Package heartbeat judges by their Leases which agents are connected and which credential each of them uses, and renews
// credentials before they end. It tells as well of whatever else hub and cluster rest on and ends soon. What it finds
// stands in the conditions of the Cluster and of the registration request; the import of a cluster whose agent is silent or
// refused is started by those.
//
// It also follows who beats: two agents that use one credential are held until a person has looked, and a cluster that was
// registered without a key is bound to the one that its agent shows.
//
// A renewal of a Lease that changes nothing costs a comparison in memory and no request. Time is the hub's own clock at
// the moment that it saw a renewal; what an agent writes as the time is not believed. What the hub could not have seen does not
// count as silence: while it was out of touch with its API server, or did not run.
//
// It may import the pure packages, pkg/kube and the generated controllers.
package heartbeat
