// Package version says which build this is. It imports nothing.
package version

// Version and Commit are set by the linker (scripts/build). A build without them calls itself "dev".
var (
	Version = "dev"
	Commit  = "none"
)
