// Package fetch gets charts from repositories and registries. It uses no setting of the process but its proxy, keeps
// nothing on disk, and is bounded in time and size: what a repository sends is untrusted.
//
// It may import Helm's repo and registry packages.
package fetch
