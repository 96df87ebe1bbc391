package explain

import (
	"slices"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// isWait says of a reason that it tells what is awaited, and no error.
func isWait(reason string) bool { return strings.HasPrefix(reason, "WaitingFor") }

// hubError is the newest error that a condition of the hub's still tells, nil where there is none.
func (v *view) hubError() *Trouble {
	var found []Trouble
	collect := func(from string, list []genericcondition.GenericCondition) {
		for i := range list {
			c := &list[i]
			if isFalse(c) && !isWait(c.Reason) {
				found = append(found, Trouble{From: from + ", condition " + c.Type, Time: updated(c), Reason: c.Reason, Message: c.Message})
			}
		}
	}
	if v.Cluster != nil {
		// Delivery has conditions of its own.
		mine := slices.DeleteFunc(slices.Clone(v.Cluster.Status.Conditions), func(c genericcondition.GenericCondition) bool {
			return c.Type == fleet.ClusterConditionReady
		})
		collect("Cluster "+v.Name, mine)
	}
	if v.Token.Value != nil {
		collect("ClusterRegistrationToken "+v.Token.Value.Name, v.Token.Value.Status.Conditions)
	}
	for _, r := range v.Requests.Value {
		collect("ClusterRegistration "+r.Name, r.Status.Conditions)
	}
	if len(found) == 0 {
		return nil
	}
	newest := slices.MaxFunc(found, func(a, b Trouble) int { return compareTimes(a.Time, b.Time) })
	return &newest
}

// compareTimes orders times; one that is not known comes first.
func compareTimes(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(b.Time)
}

// updated is when a condition was written last.
func updated(c *genericcondition.GenericCondition) *metav1.Time {
	if at := parseTime(c.LastUpdateTime); at != nil {
		return at
	}
	return since(c)
}

// agentError is what the agent has reported of a trouble of its own. What it could not report is in the Events on its
// cluster.
func (v *view) agentError() *Trouble {
	if v.Cluster == nil || v.Cluster.Status.Agent.Upgrade == nil {
		return nil
	}
	u := v.Cluster.Status.Agent.Upgrade
	if u.Reason == "" && u.Message == "" {
		return nil
	}
	return &Trouble{From: "status.agent.upgrade", Time: utc(u.Since), Reason: u.Reason, Message: u.Message}
}

// identity is whom the cluster is bound to, and who its heartbeats come from; nil where neither is known.
func (v *view) identity() *Identity {
	id := Identity{}
	var notes []string
	if v.Cluster != nil {
		pin, err := registration.PinOf(v.Cluster.Annotations)
		if err != nil {
			notes = append(notes, err.Error())
		} else if pin != nil {
			id.PinnedKey, id.PinnedCluster = pin.Fingerprint, pin.ClusterUID
		}
	}
	if v.shown {
		id.Instance, id.Key, id.Token = v.holder.Instance, v.holder.Fingerprint, v.holder.Digest
		if id.PinnedKey != "" && id.Key != "" && id.Key != id.PinnedKey {
			notes = append(notes, "the agent that sends heartbeats shows another key than the one that the Cluster is bound to")
		}
		if !v.inUse && v.Requests.Unknown == "" {
			notes = append(notes, "the agent uses a credential that no request of this cluster has record of")
		}
	}
	if v.foreignLease {
		notes = append(notes, "the Lease in the namespace that status.namespace names is another cluster's")
	}
	id.Note = strings.Join(notes, "; ")
	if id == (Identity{}) {
		return nil
	}
	return &id
}

// unknown is what could not be read.
func (v *view) unknown() []string {
	out := []string{}
	for what, why := range map[string]string{
		"requests": v.Requests.Unknown, "registration token": v.Token.Unknown, "heartbeat": v.Lease.Unknown,
		"hub's address and CA": v.Hub.Unknown, "events": v.Warnings.Unknown,
	} {
		if why != "" {
			out = append(out, what+": "+why)
		}
	}
	slices.Sort(out)
	return out
}
