// Package agentbundle knows which specs of agents' bundles the hub wrote itself. Who may write Bundles in a workspace may
// write those of agents too, and what is deployed for an agent is deployed with all of its rights: so nothing is made of a spec
// that the hub did not write. What it wrote is kept in memory alone, where nobody else writes.
//
// It has API types and no client, no cache and no clock.
package agentbundle
