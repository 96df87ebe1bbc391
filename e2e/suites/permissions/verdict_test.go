package permissions_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/pkg/names"
)

// The hub's rights are few, and enough: in all that these tests have it do, it is refused nothing. What they try in its name
// comes under other names of a client.
func TestTheHubIsRefusedNothing(t *testing.T) {
	b := ofTheBed(t)
	requests := 0
	require.NoError(t, count.NewAuditLog(b.Hub.AuditLog()).Read(func(e count.Entry) {
		if e.UserAgent != names.ControllerAccount {
			return
		}
		requests++
		assert.False(t, e.Unauthorized, "the hub was refused: %s %s/%s", e.Key, e.Namespace, e.Name)
	}))
	require.Greater(t, requests, 200, "the hub's requests were looked at")
}
