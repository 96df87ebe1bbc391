package explain

import (
	"fmt"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func (v *view) steps() []Step {
	return []Step{
		v.placeStep(), v.tokenStep(), v.agentStep(), v.requestStep(),
		v.grantStep(), v.credentialStep(), v.heartbeatStep(), v.afterStep(),
	}
}

// fromCondition is a step as a condition that is False tells it.
func fromCondition(name string, c *genericcondition.GenericCondition, state State) Step {
	return Step{Step: name, State: state, Since: since(c), Reason: c.Reason, Detail: c.Message}
}

func (v *view) placeStep() Step {
	step := Step{Step: StepPlace, State: Waits}
	c := v.condition(fleet.ClusterConditionProcessed)
	switch {
	case v.Cluster == nil:
		step.State, step.Detail = Ahead, "the hub makes the Cluster and its namespace when it grants a request"
	case v.Cluster.DeletionTimestamp != nil:
		step.Since, step.Reason, step.Detail = timeOf(*v.Cluster.DeletionTimestamp), "Leaving", "the Cluster is being deleted"
		if isFalse(c) && c.Message != "" {
			step.Detail = c.Message
		}
	case isFalse(c):
		return fromCondition(StepPlace, c, Failed)
	case isTrue(c):
		step.State, step.Since, step.Detail = Done, since(c), "namespace "+v.Cluster.Status.Namespace
	case v.Cluster.Status.Namespace != "":
		step.State, step.Detail = Done, "namespace "+v.Cluster.Status.Namespace
	default:
		step.Since, step.Detail = timeOf(v.Cluster.CreationTimestamp), "the hub has not looked at this Cluster yet; it does as soon as its controller runs"
	}
	return step
}

// tokenOver says that the cluster needs its token no more: what it was for has happened.
func (v *view) tokenOver() bool {
	return v.registered() || v.current != nil && v.current.Status.Granted
}

func (v *view) tokenStep() Step {
	step := Step{Step: StepToken, State: Waits}
	name := v.tokenName()
	token := v.Token.Value
	switch {
	case name == "" && v.Requests.Unknown != "":
		step.State, step.Detail = Unknown, "the token is named by the request, which cannot be read"
	case name == "" && token == nil:
		step.Detail = "no agent has come with a token yet"
		if v.registered() {
			step.State, step.Detail = Done, "the request that named the token is gone"
		}
	case v.Token.Unknown != "":
		step.State, step.Detail = Unknown, v.Token.Unknown
	case token == nil && v.tokenOver():
		step.State, step.Detail = Done, name+" has ended; nobody needs it any more"
	case token == nil && v.byHub():
		step.State, step.Detail = Ahead, "the hub makes "+name+" when it imports the cluster"
	case token == nil:
		step.State, step.Reason = Failed, "TokenUnknown"
		step.Detail = "token " + name + " has ended, was deleted or never existed in " + v.Workspace
	default:
		return livingToken(step, token)
	}
	return step
}

func livingToken(step Step, token *fleet.ClusterRegistrationToken) Step {
	c := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionReady)
	what := token.Name
	if token.Status.Expires != nil {
		what += ", ends " + stamp(token.Status.Expires.Time)
	} else {
		what += ", has no end"
	}
	switch {
	case isTrue(c):
		step.State, step.Since, step.Detail = Done, since(c), join(join(what, registration.CrowdedMessage(token)), c.Message)
	case isFalse(c):
		step = fromCondition(StepToken, c, Waits)
		if registration.IsTokenStuck(c.Reason) {
			step.State = Failed
		}
		step.Detail = join(token.Name, c.Message)
	case token.Status.SecretName != "": // of a hub that knows no conditions
		step.State, step.Detail = Done, what
	default:
		step.Since, step.Detail = timeOf(token.CreationTimestamp), "the hub has not looked at token "+token.Name+" yet"
	}
	return step
}

func (v *view) agentStep() Step {
	if !v.byHub() {
		return v.chartStep()
	}
	step := Step{Step: StepAgent, State: Waits}
	c := v.condition(fleet.ClusterConditionImported)
	switch {
	case isFalse(c) && (c.Reason == "Revoked" || c.Reason == "LocalAgentDisabled"):
		return fromCondition(StepAgent, c, Off)
	case isFalse(c) && (isWait(c.Reason) || c.Reason == "KubeconfigMissing" || c.Reason == "KubeconfigIncomplete"):
		return fromCondition(StepAgent, c, Waits) // what lacks has not come yet; the hub sees it come
	case isFalse(c):
		return fromCondition(StepAgent, c, Failed)
	case isTrue(c):
		step.State, step.Since, step.Detail = Done, since(c), v.importText()
		if v.hasImport && !v.imported.Time.IsZero() {
			step.Since = parseTime(stamp(v.imported.Time))
		}
	default:
		step.Detail = "the hub has not imported the cluster yet"
	}
	return step
}

// importText says what the last import did.
func (v *view) importText() string {
	said := []string{"put there by the hub"}
	if v.hasImport && v.imported.Namespace != "" {
		said = append(said, "namespace "+v.imported.Namespace)
	}
	if v.hasImport && v.imported.Attempts > 0 {
		said = append(said, fmt.Sprintf("to heal it, attempt %d", v.imported.Attempts))
	}
	return strings.Join(said, ", ")
}

// chartStep is for agents that somebody else installs: the hub sees them when they ask.
func (v *view) chartStep() Step {
	step := Step{Step: StepAgent, State: Waits}
	switch {
	case v.current != nil:
		step.State, step.Since, step.Detail = Done, timeOf(v.current.CreationTimestamp), "installed by its chart"
		if a := v.current.Spec.Agent; a != nil && a.Version != "" {
			step.Detail += ", version " + a.Version
		}
	case v.registered() || v.Cluster != nil && !v.Cluster.Status.Agent.LastSeen.IsZero():
		step.State, step.Detail = Done, "installed by its chart"
	case v.Requests.Unknown != "":
		step.State, step.Detail = Unknown, "the hub sees this agent by its request, which cannot be read"
	default:
		step.Detail = "the hub cannot see whether the agent's chart is installed before the agent asks"
	}
	return step
}

// join puts two clauses together, either of which may be missing.
func join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, ": ")
}

// tokenOf is the label by which a request names its token.
func tokenOf(r *fleet.ClusterRegistration) string { return r.Labels[names.RegistrationTokenLabel] }
