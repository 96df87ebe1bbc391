package explain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// next says what happens next, and who does it.
func (v *view) next(e Explanation) string {
	c := v.Cluster
	switch {
	case c == nil:
		return v.nextWithoutCluster(e)
	case registration.IsManagedElsewhere(c):
		return "Nothing: label fleet.cattle.io/cluster-management says that another manager has this Cluster."
	case c.DeletionTimestamp != nil:
		return "The hub takes back what the agent was given and removes the Cluster; on the cluster itself nothing is removed."
	case c.Spec.Revoked:
		return "Nothing, until spec.revoked of the Cluster is taken off."
	}
	for _, step := range e.Steps {
		if step.State == Done || step.State == Unknown {
			continue
		}
		if text := v.nextOf(step); text != "" {
			return text
		}
	}
	for _, r := range e.Requests {
		if WaitsForPerson(r.Reason) {
			return "The agent that is connected goes on. " + v.nextOfRequest(r)
		}
	}
	return v.nextOfHealthy(e)
}

func (v *view) nextWithoutCluster(e Explanation) string {
	if len(e.Requests) > 0 {
		return v.nextOfRequest(e.Requests[0])
	}
	for _, step := range e.Steps {
		if step.Step == StepToken && step.State != Done {
			return "The hub makes the token's values; then the agent's chart has to be installed on the cluster with them."
		}
	}
	name := "NAME"
	if v.Token.Value != nil {
		name = v.Token.Value.Name
	}
	return fmt.Sprintf("Somebody installs the agent's chart on the cluster with the values of the token: `fleet token values %s -n %s`.", name, v.Workspace)
}

// nextOfRequest says what ends it that a request is not granted.
func (v *view) nextOfRequest(r Request) string {
	who := "Request " + r.Name + ": "
	if unreadablePin(v.Cluster) && r.Reason == ReasonIdentityConflict {
		return who + "annotation fleet.cattle.io/identity of the Cluster has to be restored, or removed to let the next request bind it anew."
	}
	text := who + endedBy(r.Reason)
	if len(r.Commands) > 0 {
		return text + ": " + alternatives(r.Commands)
	}
	return text + "."
}

func alternatives(commands []string) string {
	quoted := make([]string, len(commands))
	for i, c := range commands {
		quoted[i] = "`" + c + "`"
	}
	return strings.Join(quoted, ", or ") + "."
}

// nextOf says what ends it that a step is not done.
func (v *view) nextOf(step Step) string {
	switch step.Step {
	case StepPlace:
		if step.State == Failed {
			return "The hub goes on by itself as soon as this is mended: " + step.Detail
		}
		return "The hub makes the cluster's namespace as soon as its controller runs."
	case StepToken:
		return v.nextOfToken(step)
	case StepAgent:
		return v.nextOfAgent(step)
	case StepRequest:
		return v.nextOfAbsence()
	case StepGrant:
		if v.current != nil && !v.current.Status.Granted {
			return v.nextOfRequest(NewRequest(v.current, v.Cluster, v.tokenFor(v.current)))
		}
	case StepCredential:
		if step.State == Failed {
			return v.nextOfLost()
		}
		return "The agent fetches its credential, tests it and sends its first heartbeat, within seconds if it runs and reaches the hub."
	case StepHeartbeat:
		return "The agent sends its first heartbeat as soon as it has fetched and tested its credential."
	case StepAfter:
		return v.nextOfTrouble()
	}
	return ""
}

func (v *view) nextOfToken(step Step) string {
	switch {
	case step.State == Ahead, v.tokenOver():
		return "" // what comes after says more
	case step.State == Failed && v.Token.Value == nil:
		return v.nextOfLost()
	case step.State == Failed:
		return "Registration waits until the token can be used again, which the hub tries by itself; the detail says what is in its way."
	case v.Token.Value != nil:
		return "The hub makes the token's values, within moments."
	}
	return fmt.Sprintf("Somebody installs the agent's chart on the cluster with the values of a token: `fleet token create NAME -n %s --cluster-name %s --wait`, then `fleet token values`.", v.Workspace, v.Name)
}

func (v *view) nextOfAgent(step Step) string {
	if !v.byHub() {
		return "Somebody installs the agent's chart on the cluster with the values of a token, and the agent asks for its registration."
	}
	secret := v.kubeconfigSecret()
	text, known := importRemedies[step.Reason]
	switch {
	case !known && step.State == Failed:
		return "The hub tries again when what the detail names is mended."
	case !known:
		return "The hub imports the cluster with the kubeconfig of Secret " + secret + ", within seconds."
	case strings.Contains(text, "%s"):
		return fmt.Sprintf(text, secret)
	}
	return text
}

// nextOfAbsence is for an agent that has not asked.
func (v *view) nextOfAbsence() string {
	hub := "the hub"
	if h := v.Hub.Value; h != nil && h.URL != "" {
		hub = h.URL
	}
	text := "The agent asks for its registration as soon as its pod runs and reaches " + hub
	if v.byHub() {
		return text + "; if it does not, the hub puts it there once more 10 minutes after the import."
	}
	return text + "."
}

// nextOfLost is for an agent that cannot go on with what it has.
func (v *view) nextOfLost() string {
	if v.byHub() {
		return "The hub imports the cluster again by itself, with a new token."
	}
	return fmt.Sprintf("Nothing by itself: the hub cannot reach this cluster. Upgrade the agent's chart with the values of a new token: `fleet token create NAME -n %s --cluster-name %s --wait`, then `fleet token values`.", v.Workspace, v.Name)
}

// nextOfTrouble is for an agent that was registered.
func (v *view) nextOfTrouble() string {
	switch {
	case v.isFalse(fleet.ClusterConditionCredentialValid):
		return v.nextOfLost()
	case v.isFalse(fleet.ClusterConditionAgentConnected) && v.byHub():
		text := "The hub puts the agent there again by itself, ever more slowly, at last every 30 minutes"
		if c := v.condition(fleet.ClusterConditionImported); isFalse(c) {
			return text + "; the last attempt: " + join(c.Reason, c.Message)
		}
		return text + "; if the agent is only cut off, it connects again by itself."
	case v.isFalse(fleet.ClusterConditionAgentConnected):
		return "The agent connects again by itself once it runs and reaches the hub; the hub cannot reach this cluster, so look at the agent there."
	case v.suspected():
		return fmt.Sprintf("Somebody finds out which agent is the copy, ends it, and says so: `fleet cluster approve %s -n %s`. Until then neither is given anything new.", v.Name, v.Workspace)
	case v.isFalse(fleet.ClusterConditionAgentUpgraded):
		return "The old agent goes on until the new one can take over; the detail says what is in its way."
	case v.isFalse(fleet.ClusterConditionReconciled):
		return "The agent goes on as it is; its bundle is written once what the detail names is put right."
	}
	return "The hub judges the agent by its next heartbeat."
}

// nextOfHealthy is for a cluster that waits for nothing.
func (v *view) nextOfHealthy(e Explanation) string {
	var soonest *Expiry
	for i := range e.Expiries {
		x := &e.Expiries[i]
		if x.Expires == nil || x.Renewal != nil || x.Expires.Sub(v.Now) > expirySoon {
			continue
		}
		if soonest == nil || x.Expires.Before(soonest.Expires) {
			soonest = x
		}
	}
	if soonest != nil {
		return fmt.Sprintf("The cluster is connected and waits for nothing; but its %s %s, and somebody has to replace it.", soonest.What, ends(soonest.Expires.Time, v.Now))
	}
	text := "Nothing is awaited"
	if len(e.Expiries) > 0 && e.Expiries[0].What == agentCredential && e.Expiries[0].Renewal != nil {
		return text + "; the agent's credential is renewed by itself from " + stamp(e.Expiries[0].Renewal.Time) + " on."
	}
	return text + "."
}

// expirySoon is how long before its end something that nobody renews is worth a word.
const expirySoon = 30 * 24 * time.Hour

// ends says when something ends or has ended.
func ends(at, now time.Time) string {
	if !at.After(now) {
		return fmt.Sprintf("ended %s (%s ago)", stamp(at), duration.HumanDuration(now.Sub(at)))
	}
	return fmt.Sprintf("ends %s (in %s)", stamp(at), duration.HumanDuration(at.Sub(now)))
}
