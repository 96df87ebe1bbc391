package bench

import (
	"context"
	"strings"

	"github.com/rancher/fleet/e2e/lab"
)

// ClearLeftovers removes what runs that were killed have left: their processes died with them, their folders did not.
// Hubs of other runs that are under way are left alone.
func ClearLeftovers(ctx context.Context, root string) error {
	stateDir := lab.DefaultStateDir(root)
	all, err := lab.List(stateDir)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.StartedBy != StartedBy || !strings.HasPrefix(s.Name, NamePrefix) || len(s.Running) > 0 {
			continue
		}
		// One that is locked is being started, and so is no leftover.
		_ = lab.Down(ctx, stateDir, s.Name)
	}
	return ctx.Err()
}
