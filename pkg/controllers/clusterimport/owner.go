package clusterimport

import (
	"errors"
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// claim says whether the hub may put its agent into a namespace of a downstream cluster.
type claim int

const (
	// take: nobody has it, or who had it has lost it or gives it up; the namespace is to be marked.
	take claim = iota
	// mine: this Cluster's mark is on it.
	mine
	// refuse: it is another's.
	refuse
)

// place is an agent's namespace on a downstream cluster.
type place struct{ clusterUID, namespace string }

// mark is what stands on a namespace about whose agent it holds.
type mark struct {
	owner registration.AgentOwner
	// found says that there is one, readable that owner is what it says.
	found, readable bool
	// digest tells marks apart, empty where there is none.
	digest string
}

func markOf(annotations map[string]string) mark {
	m := mark{}
	m.owner, m.found, m.readable = registration.AgentOwnerOf(annotations)
	if m.found {
		m.digest = digest([]byte(annotations[names.AgentOwnerAnnotation]))
	}
	return m
}

// of says that a mark is that of an owner.
func (m mark) of(owner registration.AgentOwner) bool { return m.readable && m.owner.Same(owner) }

// decideClaim says whether an import may go on. holder is the Cluster of this hub that the mark names, read live, nil
// where there is no such one any more.
func decideClaim(f facts, me registration.AgentOwner, p place, m mark, holder *fleet.Cluster) (claim, error) {
	switch {
	case !m.found:
		return take, nil
	case m.of(me) && m.owner.Leaving:
		return take, nil // a removal of ours has to see that it is over
	case m.of(me):
		return mine, nil
	case m.readable && m.owner.Hub == me.Hub:
		if holds(holder, m.owner, p) {
			return refuse, takenBy(holder, p)
		}
		return take, nil
	case m.readable && m.owner.Leaving, !beenThere(f, p), ordered(f), f.record.Replaces == m.digest && !f.imported:
		return take, nil
	}
	return refuse, takenElsewhere(m, p)
}

// holds says whether a Cluster of this hub has its agent in a place. One that is leaving or revoked has given it up.
func holds(c *fleet.Cluster, owner registration.AgentOwner, p place) bool {
	if c == nil || string(c.UID) != owner.Cluster || c.DeletionTimestamp != nil || c.Spec.Revoked {
		return false
	}
	record, _ := registration.ImportOf(c.Annotations)
	return record.Holds(p.clusterUID, p.namespace)
}

// beenThere says that this is no first import: the agent was there already, and somebody has taken its place since.
func beenThere(f facts, p place) bool {
	if f.record.Time.IsZero() {
		return f.imported // by an earlier version, which did not note where
	}
	return f.record.Holds(p.clusterUID, p.namespace)
}

// ordered says that a person wants the agent put there whatever is there.
func ordered(f facts) bool {
	last := f.record.Redeploy
	if deployed := f.cluster.Status.AgentDeployedGeneration; deployed != nil {
		last = *deployed
	}
	return last != f.cluster.Spec.RedeployAgentGeneration
}

// takenError is a refusal: trying again is of no use before something changes.
type takenError struct {
	trouble
	place place
	// holder is the Cluster of this hub that has the namespace, zero where another hub has it.
	holder registration.AgentOwner
}

func (e *takenError) Unwrap() error { return &e.trouble }

func takenBy(holder *fleet.Cluster, p place) *takenError {
	owner := registration.AgentOwner{Cluster: string(holder.UID), Namespace: holder.Namespace, Name: holder.Name}
	return &takenError{place: p, holder: owner, trouble: trouble{reason: reasonTaken, final: true, err: fmt.Errorf(
		"namespace %s of the cluster holds the agent of Cluster %s/%s, whose kubeconfig leads to the same cluster: "+
			"delete one of the two, or give one another spec.agentNamespace. The hub goes on when that Cluster has left it",
		p.namespace, holder.Namespace, holder.Name)}}
}

func takenElsewhere(m mark, p place) *takenError {
	who := "somebody whose mark this hub cannot read"
	if m.readable {
		who = fmt.Sprintf("another hub (UID of its kube-system %s, Cluster %s/%s)", m.owner.Hub, m.owner.Namespace, m.owner.Name)
	}
	return &takenError{place: p, trouble: trouble{reason: reasonTaken, final: true, err: errors.New(
		"namespace " + p.namespace + " of the cluster was taken over by " + who + "; this hub leaves its agent alone. Delete this Cluster, " +
			"or take the agent back: raise spec.redeployAgentGeneration, or remove annotation " + names.AgentOwnerAnnotation +
			" from that namespace")}}
}
