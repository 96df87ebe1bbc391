package lab

import (
	"maps"

	"github.com/rancher/fleet/e2e/proc"
)

// Processes are the components that were started, by name: for measurements of what they use.
func (c *ControlPlane) Processes() map[string]proc.Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.state.Processes)
}
