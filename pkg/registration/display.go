package registration

import (
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// DisplayWaitCheckIn is what a user interface shows until the agent has shown up once (docs/contract.md).
const DisplayWaitCheckIn = "WaitCheckIn"

// ShowCheckIn brings the displayed state in line with whether the agent has shown up, by its heartbeat or by its report.
// Other states are the bundles' and are left alone. Whoever writes a status by which that may change calls it: the display
// then costs no write of its own.
func ShowCheckIn(status *fleet.ClusterStatus) {
	seen := !status.Agent.LastSeen.IsZero() || conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected)
	switch {
	case !seen && status.Display.State == "":
		status.Display.State = DisplayWaitCheckIn
	case seen && status.Display.State == DisplayWaitCheckIn:
		status.Display.State = ""
	}
}
