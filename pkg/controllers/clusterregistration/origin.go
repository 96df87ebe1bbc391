package clusterregistration

import (
	"fmt"

	"github.com/sirupsen/logrus"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// provenance is known at any time, and tells when it changes.
type provenance interface {
	Current() registration.Provenance
	Subscribe(call func())
}

// onProvenance has the requests looked at again for which it may count where they come from.
func (h *handler) onProvenance() {
	if err := h.lookAtOpen(); err != nil {
		logrus.Errorf("Looking at registration requests again: %v", err) // the list is of a cache
	}
}

// checkOrigin is asked where a grant rests on the request's word for whose token it came with, and could harm a cluster that
// is there: one that is bound to another key, or whose agent is connected. The word counts if the API server checks it.
func checkOrigin(in input, cluster *fleet.Cluster) *decision {
	why := fmt.Sprintf("it names no token (label %s)", names.RegistrationTokenLabel)
	if in.request.Labels[names.RegistrationTokenLabel] != "" {
		switch {
		case in.provenance.Enforced():
			return nil
		case !in.provenance.Known():
			return &decision{outcome: wait, cluster: cluster, reason: reasonWaitProvenance,
				message: "the hub has begun to find out whether the origin of requests is checked; it goes on by itself"}
		}
		why = fmt.Sprintf("the API server does not check which token a request comes with (%s: condition ProvenanceEnforced of the token says what to do)", in.provenance.Reason)
	}
	d := refused(cluster, reasonIdentityConflict,
		"cluster %s has an agent already, and nothing proves that the request, which brings %s, is from it: %s; if it is the same cluster with a new agent, %s, else %s",
		cluster.Name, describe(offeredPin(in.request)), why, verb("approve --replace", in.request), verb("deny", in.request))
	return &d
}

// inUse says that an agent works with a credential of a cluster, as far as the hub knows.
func inUse(c *fleet.Cluster) bool {
	isFalse := func(kind string) bool {
		have := conditions.GetCondition(c.Status.Conditions, kind)
		return have != nil && have.Status == "False"
	}
	return conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered) &&
		!isFalse(fleet.ClusterConditionAgentConnected) && !isFalse(fleet.ClusterConditionCredentialValid)
}
