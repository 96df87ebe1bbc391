package clusterregistration

import (
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// checkToken says why the token that a request came with does not lead to this cluster.
func checkToken(in input, cluster *fleet.Cluster) *decision {
	label := in.request.Labels[names.RegistrationTokenLabel]
	if in.token == nil {
		d := refused(cluster, reasonTokenUnknown, "%s; make a new one (fleet token create) and give the agent its values", unknownToken(label, in.request.Namespace))
		return &d
	}
	if in.importAccountUID == "" {
		return &decision{outcome: wait, cluster: cluster, reason: reasonWaitAccount,
			message: fmt.Sprintf("the import account of token %s does not exist yet; condition Ready of the token says what it waits for", in.token.Name)}
	}
	mismatch := checkRequester(in, cluster)
	if mismatch != nil && in.request.Spec.Identity.Requester != "" {
		return mismatch
	}
	if reason := tokenAllows(in, cluster); reason != "" {
		d := refused(cluster, reasonTokenMismatch, "%s", reason)
		return &d
	}
	return mismatch
}

// checkRequester holds whom a request says it comes from against whose the token is. With a token that the hub made, an
// agent that brings a key always says so: one that does not is somebody who only knows the token's name.
func checkRequester(in input, cluster *fleet.Cluster) *decision {
	id := in.request.Spec.Identity
	if id == nil || id.Requester == "" && (in.tokenOwner == "" || id.PublicKey == "") {
		return nil
	}
	user := names.AccountUser(in.namespaces.Registration, names.Account(in.token.Name, string(in.token.UID)))
	if id.Requester == user {
		return nil
	}
	d := refused(cluster, reasonRequesterMismatch, "spec.identity.requester is %.300q, but token %s belongs to %q; give the agent the values of the token as they are now", id.Requester, in.token.Name, user)
	return &d
}

// tokenAllows is empty where the token leads to this cluster. The hub's own token leads to the one cluster that it was
// made for, a person's to whom its limits allow.
func tokenAllows(in input, cluster *fleet.Cluster) string {
	if in.tokenOwner != "" {
		if cluster == nil || string(cluster.UID) != in.tokenOwner {
			return fmt.Sprintf("token %s was made to import another cluster; give this agent the values of a token of its own (fleet token create)", in.token.Name)
		}
		return ""
	}
	limits := in.token.Spec
	if len(limits.ClientIDs) > 0 && !slices.Contains(limits.ClientIDs, in.request.Spec.ClientID) {
		return fmt.Sprintf("token %s is limited by spec.clientIDs to other clients; add this request's spec.clientID there, or give the agent another token", in.token.Name)
	}
	if limits.ClusterName != "" && cluster != nil && cluster.Name != limits.ClusterName {
		return fmt.Sprintf("token %s is limited by spec.clusterName to cluster %s; give the agent the values of another token", in.token.Name, limits.ClusterName)
	}
	return ""
}

// checkAdmission says what a request lacks that the hub or the token asks for, before anything is made for it.
func checkAdmission(in input, cluster *fleet.Cluster) *decision {
	if in.deniedTwin != nil && !approved(in.request) {
		// The other's name stays out of it: who holds a registration token reads any request whose name he knows.
		d := refused(cluster, reasonIdentityDenied, "another request of the same client with the same key is denied (`fleet registration list -n %s`): to let this one in, %s",
			in.request.Namespace, verb("approve", in.request))
		return &d
	}
	if in.config.Registration.RequireIdentity && offeredPin(in.request) == nil {
		d := refused(cluster, reasonIdentityRequired, "the hub requires a key (registration.requireIdentity) and the agent sent none (spec.identity.publicKey); use an agent of this hub's version")
		return &d
	}
	if isUsedUp(in.token, in.request, in.config) {
		d := usedUp(in.token, cluster, in.config)
		return &d
	}
	if in.token.Spec.RequireApproval && !approved(in.request) {
		d := refused(cluster, reasonWaitApproval, "token %s asks for an approval (spec.requireApproval): %s, or %s", in.token.Name, verb("approve", in.request), verb("deny", in.request))
		return &d
	}
	return nil
}

func approved(r *fleet.ClusterRegistration) bool {
	a := r.Status.Approval
	return a != nil && (a.Decision == approvalApprove || a.Decision == approvalReplace)
}
