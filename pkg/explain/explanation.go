package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateRequested is the state of a cluster that has no Cluster yet: somebody asks for it. The others are those of
// registration.StateOf.
const StateRequested = "Requested"

// Explanation is all that is told of one cluster. Its JSON is an interface: it is added to, and not changed.
type Explanation struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// Exists is false where no Cluster has this name, and one is only asked for.
	Exists   bool   `json:"exists"`
	JoinedBy string `json:"joinedBy"`
	State    string `json:"state"`
	// WaitsFor is empty where nothing is awaited.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Next says in a sentence what happens next, and who does it.
	Next  string `json:"next"`
	Steps []Step `json:"steps"`
	// HubError and AgentError are the last errors of each side, as far as the hub knows them.
	HubError   *Trouble    `json:"hubError,omitempty"`
	AgentError *Trouble    `json:"agentError,omitempty"`
	Identity   *Identity   `json:"identity,omitempty"`
	Expiries   []Expiry    `json:"expiries"`
	Requests   []Request   `json:"requests"`
	Warnings   []EventLine `json:"warnings"`
	// Unknown is what could not be read, and why.
	Unknown []string `json:"unknown"`
}

// Step is one step of the handshake.
type Step struct {
	Step  string `json:"step"`
	State State  `json:"state"`
	// Since is when the step came into this state.
	Since  *metav1.Time `json:"since,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Detail string       `json:"detail,omitempty"`
}

// State is how far a step is.
type State string

// States of a step.
const (
	// Done is a step that has been taken.
	Done State = "done"
	// Waits is a step that goes on by itself, or as soon as somebody does what its detail says.
	Waits State = "waits"
	// Failed is a step that does not go on before somebody mends or decides something.
	Failed State = "failed"
	// Ahead is a step whose turn has not come.
	Ahead State = "ahead"
	// Off is a step that was switched off on purpose.
	Off State = "off"
	// Unknown is a step of which nothing could be read.
	Unknown State = "unknown"
)

// Names of the steps, in their order.
const (
	StepPlace      = "place on the hub"
	StepToken      = "registration token"
	StepAgent      = "agent on its cluster"
	StepRequest    = "request"
	StepGrant      = "grant"
	StepCredential = "credential"
	StepHeartbeat  = "first heartbeat"
	StepAfter      = "afterwards"
)

// Trouble is an error that one side has reported.
type Trouble struct {
	From    string       `json:"from"`
	Time    *metav1.Time `json:"time,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
}

// Identity is whom a cluster is bound to, and who its heartbeats come from.
type Identity struct {
	// PinnedKey and PinnedCluster are the annotation fleet.cattle.io/identity.
	PinnedKey     string `json:"pinnedKey,omitempty"`
	PinnedCluster string `json:"pinnedClusterUID,omitempty"`
	// Instance, Key and Token are from the holder of the heartbeat: the agent's pod, the fingerprint of its key, and the
	// digest of the token that it uses.
	Instance string `json:"instance,omitempty"`
	Key      string `json:"key,omitempty"`
	Token    string `json:"tokenDigest,omitempty"`
	// Note says what does not fit together.
	Note string `json:"note,omitempty"`
}

// Expiry is something that ends some day.
type Expiry struct {
	What string `json:"what"`
	// Fingerprint is the SHA-256 of a certificate, or the digest of a token, and says which.
	Fingerprint string       `json:"fingerprint,omitempty"`
	Expires     *metav1.Time `json:"expires,omitempty"`
	// Renewal is from when on it is renewed by itself.
	Renewal *metav1.Time `json:"renewal,omitempty"`
	// Endless says that it is known to have no end. Where neither this nor Expires is set, no end is known.
	Endless bool   `json:"endless,omitempty"`
	Note    string `json:"note,omitempty"`
}

// EventLine is a Warning event of the hub.
type EventLine struct {
	Time    metav1.Time `json:"time"`
	About   string      `json:"about"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	// Over says that what it warned of holds no more.
	Over bool `json:"over,omitempty"`
}

// Explain tells what the facts say.
func Explain(f Facts) Explanation {
	v := newView(f)
	e := Explanation{
		Workspace: f.Workspace, Name: f.Name, Exists: f.Cluster != nil, JoinedBy: v.joinedBy,
		Steps: v.steps(), Identity: v.identity(), Expiries: v.expiries(),
		Requests: v.pending(), Warnings: v.warnings(), Unknown: v.unknown(),
	}
	e.State, e.WaitsFor = StateOf(f.Cluster, f.Requests.Value)
	e.HubError, e.AgentError = v.hubError(), v.agentError()
	e.Next = v.next(e)
	return e
}
