package clusterregistration

import (
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// decidePin returns the pin to write, nil where there is none to write, or the reason not to grant. Whoever knows a
// client ID cannot take a bound cluster over: that takes its key, the hub's own import of this very cluster, or a person.
func decidePin(in input, cluster *fleet.Cluster) (*registration.Pin, *decision) {
	offered := offeredPin(in.request)
	pinned, err := registration.PinOf(cluster.Annotations)
	if err != nil {
		d := refused(cluster, reasonIdentityConflict, "cluster %s: %s", cluster.Name, err)
		return nil, &d
	}
	switch {
	case replaces(in.request) && (pinned == nil || offered == nil || !offered.Same(*pinned)):
		return boundPin(in.request), nil
	case pinned == nil && fromElsewhere(offered, cluster):
		d := refused(cluster, reasonIdentityConflict, "the hub imported cluster %s and found another cluster there than %s; the request is not from the agent that the hub put there; to bind the cluster to it all the same, %s, else %s",
			cluster.Name, describe(offered), verb("approve --replace", in.request), verb("deny", in.request))
		return nil, &d
	case pinned == nil && !inUse(cluster):
		return boundPin(in.request), nil
	case pinned != nil && offered != nil && offered.Same(*pinned):
		return nil, nil // whoever has another key cannot open what is sealed to this one
	case pinned != nil && offered != nil && pinned.ClusterUID == "" && offered.Fingerprint == pinned.Fingerprint:
		return boundPin(in.request), nil // it was pinned on use, by a heartbeat, which tells no UID
	case pinned == nil || provenByImport(in, cluster):
		if d := checkOrigin(in, cluster); d != nil {
			return nil, d
		}
		return boundPin(in.request), nil
	}
	// Whoever sent the request reads this: to whom the cluster is bound stands on the Cluster, which he cannot read.
	d := refused(cluster, reasonIdentityConflict,
		"cluster %s is bound to another identity (annotation fleet.cattle.io/identity of the Cluster), the request brings %s; if it is the same cluster with a new agent, %s, else %s",
		cluster.Name, describe(offered),
		verb("approve --replace", in.request), verb("deny", in.request))
	return nil, &d
}

// fromElsewhere says that a first key comes from another cluster than the one into which the hub put the agent.
func fromElsewhere(offered *registration.Pin, cluster *fleet.Cluster) bool {
	record, ok := registration.ImportOf(cluster.Annotations)
	return ok && offered != nil && record.ClusterUID != "" && offered.ClusterUID != record.ClusterUID
}

func offeredPin(r *fleet.ClusterRegistration) *registration.Pin {
	if r.Spec.Identity == nil || r.Spec.Identity.PublicKey == "" {
		return nil
	}
	fingerprint, err := registration.Fingerprint(r.Spec.Identity.PublicKey)
	if err != nil {
		return nil
	}
	return &registration.Pin{Fingerprint: fingerprint, ClusterUID: r.Spec.Identity.ClusterUID}
}

// boundPin is the identity of a request as it is bound, with who approved that.
func boundPin(r *fleet.ClusterRegistration) *registration.Pin {
	pin := offeredPin(r)
	if pin != nil && approved(r) {
		pin.ApprovedBy, pin.Request = registration.Printable(r.Status.Approval.By, maxPerson), r.Name
	}
	return pin
}

func describe(p *registration.Pin) string {
	if p == nil {
		return "no key"
	}
	return fmt.Sprintf("key %s of cluster %.64s", p.Fingerprint, p.ClusterUID)
}

// provenByImport says that the hub put this agent there itself: the request came with the account of the last import of
// this very cluster, which is good for one grant, and from the cluster that was found there.
func provenByImport(in input, cluster *fleet.Cluster) bool {
	record, ok := registration.ImportOf(cluster.Annotations)
	if !ok || in.tokenSpent || in.importAccountUID == "" || record.AccountUID != in.importAccountUID || in.tokenOwner != string(cluster.UID) {
		return false
	}
	id := in.request.Spec.Identity
	// An agent without a key knows no UID to send; one with a key has to be where the hub put it.
	return id == nil || id.PublicKey == "" && id.ClusterUID == "" || id.ClusterUID == record.ClusterUID
}

func replaces(r *fleet.ClusterRegistration) bool {
	return r.Status.Approval != nil && r.Status.Approval.Decision == approvalReplace
}
