package registration

import (
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// DisplayWaitCheckIn is what a user interface shows until the agent has shown up once (docs/contract.md).
const DisplayWaitCheckIn = "WaitCheckIn"

// AwaitCheckIn has the display say that the agent has not shown up yet, where nothing else is displayed.
func AwaitCheckIn(status *fleet.ClusterStatus) {
	if status.Display.State == "" && status.Agent.LastSeen.IsZero() && !conditions.IsTrue(status.Conditions, fleet.ClusterConditionAgentConnected) {
		status.Display.State = DisplayWaitCheckIn
	}
}

// CheckedIn ends that. Other states are the bundles' and are left alone. It comes with what says that the agent is
// connected, so that the display costs no write of its own.
func CheckedIn(status *fleet.ClusterStatus) {
	if status.Display.State == DisplayWaitCheckIn {
		status.Display.State = ""
	}
}
