package clusterregistration

import (
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Bounds of what messages repeat, in characters.
const (
	maxPerson = 100
	maxWords  = 200
)

// verb is what a person types to decide on a request.
func verb(what string, r *fleet.ClusterRegistration) string {
	return fmt.Sprintf("`fleet registration %s %s -n %s`", what, r.Name, r.Namespace)
}

// deniedMessage names the command that overrules the denial, as it has to be typed.
func deniedMessage(in input) string {
	r := in.request
	by, why := registration.Printable(r.Status.Approval.By, maxPerson), registration.Printable(r.Status.Approval.Reason, maxWords)
	message := "denied (status.approval)"
	if by != "" {
		message += " by " + by
	}
	if why != "" {
		message += ": " + why
	}
	approve := "approve"
	if cluster, _ := findCluster(in); cluster != nil {
		if _, d := decidePin(in, cluster); d != nil && d.reason == reasonIdentityConflict {
			approve = "approve --replace"
		}
	}
	return message + "; to let it in after all, " + verb(approve, r)
}

func unknownToken(name, workspace string) string {
	if name == "" {
		return fmt.Sprintf("the request has no label %s, and no cluster of %s with its spec.clientID has an import token", names.RegistrationTokenLabel, workspace)
	}
	return fmt.Sprintf("registration token %q (label %s) does not exist in %s", name, names.RegistrationTokenLabel, workspace)
}
