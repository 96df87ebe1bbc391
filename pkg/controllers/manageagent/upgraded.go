package manageagent

import (
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentupgrade"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of condition AgentUpgraded beside those that agents report.
const (
	reasonUpgraded  = "Upgraded"
	reasonWaiting   = "Waiting"
	reasonUpgrading = "Upgrading"
	reasonStalled   = "Stalled"
)

// verdict is what condition AgentUpgraded is to say; without a reason it stays as it is.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
	// again is when time alone brings another verdict, zero for never.
	again time.Time
	// changed says that somebody else had changed the bundle, and that it was put back.
	changed bool
}

// judge says how the upgrade of an agent goes. waitsFor is empty unless the agent waits for its turn. That all is well is
// not said before anything else was: it would cost a write for each cluster that joins.
func judge(f facts, waitsFor string, now time.Time) verdict {
	a := f.agent
	have := conditions.GetCondition(f.cluster.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
	switch u := f.cluster.Status.Agent.Upgrade; {
	case waitsFor != "":
		return verdict{status: metav1.ConditionUnknown, reason: reasonWaiting, message: waitsFor}
	case a.running == a.written && (u == nil || u.Reason == agentupgrade.TakenBack):
		// What was taken back is not wanted any more.
		if have == nil {
			return verdict{}
		}
		return verdict{status: metav1.ConditionTrue, reason: reasonUpgraded}
	case u != nil && u.Reason != "" && a.reachable:
		return verdict{status: metav1.ConditionFalse, reason: agentupgrade.Reason(u.Reason), message: agentupgrade.Message(u.Message)}
	case a.running != a.written && !a.reachable && isUnderWay(have, f.cluster):
		return verdict{status: metav1.ConditionUnknown, reason: reasonWaiting, message: standsBy(f.cluster)}
	case a.running == a.written, !a.reachable:
		return verdict{} // what it said last may be over
	}
	return judgeSilent(a, have, now)
}

// isUnderWay says that nothing but the way of an upgrade was said of an agent. That it hangs is explained where the Cluster is
// held; one that first hung and then fell silent may have done so because of the upgrade.
func isUnderWay(have *genericcondition.GenericCondition, c *fleet.Cluster) bool {
	if have == nil {
		return false
	}
	_, held := registration.CloneOf(c.Annotations)
	return have.Reason == reasonUpgrading || have.Reason == reasonWaiting || have.Reason == reasonStalled && held
}

// judgeSilent is for an agent that runs something else than it was given, and does not say why.
func judgeSilent(a agent, have *genericcondition.GenericCondition, now time.Time) verdict {
	v := verdict{
		status: metav1.ConditionUnknown, reason: reasonUpgrading,
		message: fmt.Sprintf("generation %s was given to the agent, which has not come back with it yet", a.written),
	}
	since := now
	switch {
	case have == nil:
		since = a.writtenAt
	case have.Reason == reasonStalled:
		return verdict{}
	case have.Reason == reasonUpgrading && have.Status == corev1.ConditionUnknown && have.Message == v.message:
		if t, err := time.Parse(time.RFC3339, have.LastUpdateTime); err == nil {
			since = t
		}
	}
	ends := since.Add(hangAfter)
	switch {
	case now.Before(ends) && have == nil && !a.waved:
		return verdict{again: ends} // it has just joined
	case now.Before(ends):
		v.again = ends
		return v
	}
	running := "another generation"
	if a.running == "" {
		running = "none that it names"
	}
	return verdict{
		status: metav1.ConditionFalse, reason: reasonStalled,
		message: fmt.Sprintf("generation %s was given to the agent more than %s ago, and %s still runs; look at Deployment fleet-agent and its pods on the cluster", a.written, hangAfter, running),
	}
}
