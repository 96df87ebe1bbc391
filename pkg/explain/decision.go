package explain

import (
	"errors"
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// CheckDecision says why a decision about a request has no sense, and what to do instead; nil where it has. cluster is the
// one that the request is about, nil where there is none or it is not known. takeBack allows to deny what was granted.
func CheckDecision(r *fleet.ClusterRegistration, cluster *fleet.Cluster, decision string, takeBack bool) error {
	if r.DeletionTimestamp != nil {
		return errors.New("it is being deleted; its agent asks again under another name")
	}
	reason := ""
	if granted := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted); granted != nil && !r.Status.Granted {
		reason = granted.Reason
	}
	if registration.IsFinal(reason) {
		return fmt.Errorf("the hub has refused it for good (%s); its agent asks again by itself under another name", reason)
	}
	if a := r.Status.Approval; a != nil && a.Decision == decision {
		return fmt.Errorf("it is %s already", approvalText(a))
	}
	if decision == Deny {
		return checkDenial(r, takeBack)
	}
	return checkApproval(r, cluster, decision, reason)
}

func checkDenial(r *fleet.ClusterRegistration, takeBack bool) error {
	if takeBack && !r.Status.Granted {
		return errors.New("it is not granted, and there is nothing to take back: leave --take-back out")
	}
	if r.Status.Granted && !takeBack {
		return fmt.Errorf("it is granted already, for cluster %s; to deny it takes away what its agent works with: add --take-back if that is meant", r.Status.ClusterName)
	}
	return nil
}

func checkApproval(r *fleet.ClusterRegistration, cluster *fleet.Cluster, decision, reason string) error {
	if r.Status.Granted {
		return fmt.Errorf("it is granted already, for cluster %s", r.Status.ClusterName)
	}
	conflicts, known := conflict(r, cluster)
	conflicts = conflicts || reason == ReasonIdentityConflict
	switch {
	case reason == "":
		return errors.New("the hub has not looked at it yet; try again in a moment, and if that does not help see whether the hub's controller runs")
	case conflicts && unreadablePin(cluster):
		return errors.New("the Cluster's annotation fleet.cattle.io/identity cannot be read: restore it, or remove it to let the next request bind the Cluster anew")
	case reason != ReasonDenied && !WaitsForPerson(reason):
		return fmt.Errorf("it does not wait for an approval but for something else (%s): %s", reason, endedBy(reason))
	case conflicts && decision == Approve:
		return fmt.Errorf("it brings another identity than the one that its Cluster is bound to: if it is the same cluster with a new agent add --replace, which ends the access of the old agent; else deny it")
	case !conflicts && known && decision == Replace:
		return errors.New("there is no other identity to replace: leave --replace out")
	}
	return nil
}
