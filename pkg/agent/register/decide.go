package register

// CredentialState is what is known of the stored credential.
type CredentialState string

// States of the stored credential.
const (
	CredentialAbsent CredentialState = "absent"
	// CredentialUnusable cannot be read or dialled: no hub was asked.
	CredentialUnusable CredentialState = "unusable"
	// CredentialUntested is to be tried, for the first time or because the hub has just refused a call.
	CredentialUntested CredentialState = "untested"
	CredentialWorks    CredentialState = "works"
	// CredentialRefused is one to which the hub has answered 401 or 403, more than once.
	CredentialRefused CredentialState = "refused"
	// CredentialUnreachable is one of which no hub has said anything.
	CredentialUnreachable CredentialState = "unreachable"
)

// BootstrapState is what is known of the bootstrap secret.
type BootstrapState string

// States of the bootstrap secret.
const (
	BootstrapAbsent BootstrapState = "absent"
	// BootstrapUnusable is half written, or names something that cannot be.
	BootstrapUnusable BootstrapState = "unusable"
	BootstrapUsable   BootstrapState = "usable"
	// BootstrapRefused is one whose token the hub has answered with 401, until it is due for another try.
	BootstrapRefused BootstrapState = "refused"
)

// Progress is what handshake is under way.
type Progress string

// Progress of the handshake.
const (
	ProgressNone Progress = "none"
	// ProgressCurrent is a handshake for the bootstrap secret as it is now, ProgressOutdated one for what it was.
	ProgressCurrent  Progress = "current"
	ProgressOutdated Progress = "outdated"
)

// Situation is everything that Decide looks at.
type Situation struct {
	Credential CredentialState
	Bootstrap  BootstrapState
	// Fulfilled says that the stored credential was got with this very bootstrap secret.
	Fulfilled bool
	Progress  Progress
}

// Action names a decision for people.
type Action string

// Actions.
const (
	ActionUse              Action = "Use"
	ActionTest             Action = "Test"
	ActionRegister         Action = "Register"
	ActionRetryLater       Action = "RetryLater"
	ActionWaitForBootstrap Action = "WaitForBootstrap"
)

// Order says what to do with something that may be running.
type Order string

// Orders.
const (
	Leave Order = "leave"
	Start Order = "start"
	Stop  Order = "stop"
)

// Decision is what to do.
type Decision struct {
	Action Action
	Reason string
	// Work is all that is done with the stored credential.
	Work Order
	// Test says that the stored credential is to be tried, as soon as it is due.
	Test bool
	// Handshake, where it is Start, takes the place of one that is running.
	Handshake Order
	// Anew says that the handshake must not resume the request that was begun before: it has been answered already.
	Anew bool
	// DropBootstrap says that the bootstrap secret has done its work.
	DropBootstrap bool
}

// Decide is the whole policy. A hub that does not answer is never taken for one that refuses. A bootstrap secret that
// the stored credential did not come from is an order to register, whether the credential works or not; until that is
// done, the credential stays in use.
func Decide(s Situation) Decision {
	d := Decision{Work: decideWork(s.Credential), Handshake: Leave}
	d.Test = s.Credential == CredentialUntested || s.Credential == CredentialRefused || s.Credential == CredentialUnreachable
	registering := s.Progress == ProgressCurrent
	switch s.Bootstrap {
	case BootstrapAbsent, BootstrapRefused:
		registering = false
		if s.Progress != ProgressNone {
			d.Handshake = Stop
		}
	case BootstrapUnusable:
		// Half a document is no order: what runs goes on.
		registering = s.Progress != ProgressNone
	case BootstrapUsable:
		if registering {
			break
		}
		if s.Fulfilled && !needsAnother(s.Credential) {
			d.DropBootstrap = s.Credential == CredentialWorks
			if s.Progress != ProgressNone {
				d.Handshake = Stop
			}
			break
		}
		d.Handshake, d.Anew, registering = Start, s.Fulfilled, true
	}
	d.Action = decideAction(s.Credential, registering)
	d.Reason = reason(s, d)
	return d
}

// needsAnother says whether a credential is certainly of no use.
func needsAnother(c CredentialState) bool {
	return c == CredentialRefused || c == CredentialAbsent || c == CredentialUnusable
}

func decideWork(c CredentialState) Order {
	switch c {
	case CredentialWorks:
		return Start
	case CredentialUntested, CredentialUnreachable:
		return Leave
	}
	return Stop
}

func decideAction(c CredentialState, registering bool) Action {
	switch {
	case registering:
		return ActionRegister
	case c == CredentialWorks:
		return ActionUse
	case c == CredentialUntested:
		return ActionTest
	case c == CredentialUnreachable:
		return ActionRetryLater
	}
	return ActionWaitForBootstrap
}
