// Package agent measures a real agent: how soon its cluster is registered, how soon a bundle is applied and Ready, how
// much memory it needs with few and many releases, and what it asks of hub and cluster while nothing changes. Hub, cluster
// and agent are processes of this machine. Definitions are in bench/README.md.
//
// It imports the bench package, the stage, the lab and the product's API types.
package agent
