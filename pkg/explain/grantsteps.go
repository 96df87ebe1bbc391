package explain

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// withoutRequest is a step about a request that is not there, or cannot be read.
func (v *view) withoutRequest(name string) Step {
	step := Step{Step: name, State: Ahead}
	switch {
	case v.Requests.Unknown != "":
		step.State, step.Detail = Unknown, v.Requests.Unknown
	case name == StepRequest && v.registered():
		step.State, step.Reason, step.Detail = Failed, "RequestGone", "the request that was granted is gone, and what it was granted with it; the agent has to ask again"
	case name == StepRequest && v.byHub() && !v.isTrue(fleet.ClusterConditionImported):
		// Nobody can ask before the hub has put the agent there.
	case name == StepRequest:
		step.State, step.Detail = Waits, "no request has come"
	}
	return step
}

func (v *view) requestStep() Step {
	r := v.current
	if r == nil {
		return v.withoutRequest(StepRequest)
	}
	said := []string{r.Name, "client " + r.Spec.ClientID}
	if key := fingerprintOf(r); key != "" {
		said = append(said, "key "+key)
	} else {
		said = append(said, "without a key")
	}
	return Step{Step: StepRequest, State: Done, Since: timeOf(r.CreationTimestamp), Detail: strings.Join(said, ", ")}
}

func (v *view) grantStep() Step {
	r := v.current
	if r == nil {
		return v.withoutRequest(StepGrant)
	}
	c := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
	step := Step{Step: StepGrant, Since: since(c)}
	switch {
	case isTrue(c) || c == nil && r.Status.Granted:
		step.State, step.Detail = Done, "cluster "+r.Status.ClusterName
		if a := r.Status.Approval; a != nil && a.Decision != "" {
			step.Detail += ", " + approvalText(a)
		}
	case isFalse(c):
		return fromCondition(StepGrant, c, refusedState(c.Reason))
	default:
		step.State, step.Since, step.Detail = Waits, timeOf(r.CreationTimestamp), "the hub has not answered yet; it does as soon as its controller runs"
	}
	return step
}

// refusedState tells a refusal that ends by itself from one that somebody has to end.
func refusedState(reason string) State {
	switch {
	case reason == ReasonRevoked:
		return Off
	case isWait(reason), registration.IsFinal(reason): // after the last word on a request the agent makes another
		return Waits
	}
	return Failed
}

func (v *view) credentialStep() Step {
	r := v.current
	if r == nil {
		return v.withoutRequest(StepCredential)
	}
	ready := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
	used := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
	step := Step{Step: StepCredential, Since: since(ready)}
	switch {
	case !r.Status.Granted:
		step.State, step.Since = Ahead, nil
	case isTrue(used) && v.isFalse(fleet.ClusterConditionCredentialValid):
		step.State, step.Since, step.Detail = Done, since(used), "the agent had it and used it; it is good no longer"
	case isTrue(used):
		step.State, step.Since, step.Detail = Done, since(used), "the agent has it and uses it"
	case isFalse(ready):
		return fromCondition(StepCredential, ready, Failed)
	case isTrue(ready):
		step.State, step.Detail = Waits, ready.Message
	case v.registered(): // of a hub that knows no conditions
		step.State = Done
	default:
		step.State, step.Detail = Waits, "the hub is making it"
	}
	return step
}

func (v *view) heartbeatStep() Step {
	c := v.condition(fleet.ClusterConditionRegistered)
	step := Step{Step: StepHeartbeat, State: Ahead}
	switch {
	case isTrue(c):
		step.State, step.Since = Done, since(c)
	case v.current != nil && v.current.Status.Granted:
		step.State, step.Detail = Waits, "the agent sends it once it has its credential"
	case v.Requests.Unknown != "" && v.Cluster != nil:
		step.State = Waits
		if c != nil {
			step.Since, step.Reason, step.Detail = since(c), c.Reason, c.Message
		}
	}
	return step
}

// afterStep is how the agent that has registered is now.
func (v *view) afterStep() Step {
	connected := v.condition(fleet.ClusterConditionAgentConnected)
	valid := v.condition(fleet.ClusterConditionCredentialValid)
	upgraded := v.condition(fleet.ClusterConditionAgentUpgraded)
	reconciled := v.condition(fleet.ClusterConditionReconciled)
	switch {
	case !v.registered():
		return Step{Step: StepAfter, State: Ahead}
	case isFalse(valid) && valid.Reason == ReasonRevoked:
		return fromCondition(StepAfter, valid, Off)
	case isFalse(valid):
		return fromCondition(StepAfter, valid, Failed)
	case isFalse(connected):
		step := fromCondition(StepAfter, connected, Failed)
		step.Detail = strings.Join([]string{step.Detail, v.beatText()}, "; ") // a hub that was restarted knows the time no more
		return step
	case v.suspected():
		return fromCondition(StepAfter, connected, Failed)
	case isFalse(upgraded):
		return fromCondition(StepAfter, upgraded, Failed)
	case isFalse(reconciled):
		return fromCondition(StepAfter, reconciled, Failed)
	}
	step := Step{Step: StepAfter, State: Waits, Since: since(connected), Detail: v.beatText()}
	if isTrue(connected) {
		step.State = Done
	}
	return step
}

// beatText says when the last heartbeat came, and from which agent.
func (v *view) beatText() string {
	said := []string{}
	lease := v.Lease.Value
	switch {
	case v.Lease.Unknown != "":
		said = append(said, "last heartbeat unknown: "+v.Lease.Unknown)
	case lease != nil && !v.foreignLease && lease.Spec.RenewTime != nil:
		at := lease.Spec.RenewTime.Time
		said = append(said, "last heartbeat "+duration.HumanDuration(v.Now.Sub(at))+" ago")
	case !v.Cluster.Status.Agent.LastSeen.IsZero():
		said = append(said, "last check-in "+duration.HumanDuration(v.Now.Sub(v.Cluster.Status.Agent.LastSeen.Time))+" ago")
	default:
		said = append(said, "no heartbeat is known")
	}
	if version := v.Cluster.Status.Agent.Version; version != "" {
		said = append(said, "agent version "+version)
	}
	if v.shown {
		said = append(said, "pod "+v.holder.Instance)
	}
	return strings.Join(said, ", ")
}
