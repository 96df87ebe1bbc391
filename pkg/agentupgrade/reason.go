// Package agentupgrade is what an agent and its hub say to each other about a new pod of the agent that has not taken
// over: the reasons in status.agent.upgrade. It is pure, and may import pkg/registration and the API types.
package agentupgrade

import (
	"slices"

	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of status.agent.upgrade, which the hub shows as those of condition AgentUpgraded.
const (
	// PodRefused: the new pod cannot even be made, because of a quota or a policy.
	PodRefused = "PodRefused"
	// Unschedulable: no node takes the new pod.
	Unschedulable = "Unschedulable"
	// Pending: the new pod does not start.
	Pending = "Pending"
	// ImagePull: the image cannot be pulled.
	ImagePull = "ImagePull"
	// CrashLoop: the new pod ends again and again.
	CrashLoop = "CrashLoop"
	// HubUnreachable: the new pod does not reach the hub.
	HubUnreachable = "HubUnreachable"
	// NotReady: the new pod runs and does not get ready, for another reason.
	NotReady = "NotReady"
	// TakenBack: the old agent has put its own pod template back.
	TakenBack = "TakenBack"
	// Failed stands for a reason that the hub does not know.
	Failed = "UpgradeFailed"
)

// MaxMessage is how many characters a message has at most.
const MaxMessage = 256

var known = []string{PodRefused, Unschedulable, Pending, ImagePull, CrashLoop, HubUnreachable, NotReady, TakenBack}

// Reason is a reason that an agent reported, as far as it is one.
func Reason(reported string) string {
	if slices.Contains(known, reported) {
		return reported
	}
	return Failed
}

// Message is a message as it may be shown, whoever wrote it. It is bounded in bytes as well as in characters.
func Message(text string) string {
	text = registration.Printable(text, MaxMessage)
	for len(text) > MaxMessage {
		text = registration.Printable(text, len([]rune(text))-1)
	}
	return text
}
