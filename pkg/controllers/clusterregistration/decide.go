package clusterregistration

import (
	"cmp"
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// outcome is what is to become of a request.
type outcome int

const (
	// skip leaves the request to somebody else.
	skip outcome = iota
	// refuse does not grant, and says why; it is looked at again when something changes.
	refuse
	// create makes the Cluster that the request is for.
	create
	// wait lets another controller go first.
	wait
	// grant gives, or keeps up, the account and its credential.
	grant
	// revoke takes what was granted.
	revoke
)

// Reasons of condition Granted, for users and for tests.
const (
	reasonInvalid           = "InvalidRequest"
	reasonDenied            = "Denied"
	reasonRevoked           = "Revoked"
	reasonTokenUnknown      = "TokenUnknown"
	reasonRequesterMismatch = "RequesterMismatch"
	reasonTokenMismatch     = "TokenNotForThisCluster"
	reasonNameTaken         = "ClusterNameTaken"
	reasonIdentityRequired  = "IdentityRequired"
	reasonIdentityConflict  = "IdentityConflict"
	reasonWaitApproval      = "WaitingForApproval"
	reasonWaitNamespace     = "WaitingForNamespace"
	reasonWaitAccount       = "WaitingForImportAccount"
	reasonClusterGone       = "ClusterGone"
	reasonWaitDeletion      = "WaitingForDeletion"
	reasonGranted           = "Granted"
)

// Decisions of an approval.
const (
	approvalApprove = "approve"
	approvalReplace = "replace"
	approvalDeny    = "deny"
)

// input is what is known about a request.
type input struct {
	request *fleet.ClusterRegistration
	// sameClient are the Clusters of the workspace with the request's client ID, none of them being deleted.
	sameClient []*fleet.Cluster
	// byName is the Cluster that has the name which a new one would get.
	byName *fleet.Cluster
	// token is the registration token that the request names, and importAccountUID the UID of the account behind it,
	// empty while there is none.
	token            *fleet.ClusterRegistrationToken
	importAccountUID string
	// tokenOwner is the UID of the Cluster that the hub made the token for, empty for a token that a person made.
	tokenOwner string
	config     config.Config
	namespaces names.Namespaces
}

// decision is the outcome for a request, and the Cluster that it is about.
type decision struct {
	outcome         outcome
	reason, message string
	// cluster is the one to create, or the one that the request was matched to.
	cluster *fleet.Cluster
	// pin is to be written to the cluster before the grant, nil where it stands as it should.
	pin *registration.Pin
}

func decide(in input) decision {
	if in.request.DeletionTimestamp != nil || in.request.Labels[names.ClusterManagementLabel] != "" {
		return decision{outcome: skip}
	}
	if err := registration.ValidateRequest(in.request); err != nil {
		return refused(nil, reasonInvalid, "%s", err)
	}
	if a := in.request.Status.Approval; a != nil && a.Decision == approvalDeny {
		return decision{outcome: revoke, reason: reasonDenied, message: fmt.Sprintf("denied by %s: %s", a.By, a.Reason)}
	}
	cluster, d := findCluster(in)
	if d != nil {
		return *d
	}
	if d := checkToken(in, cluster); d != nil {
		return *d
	}
	if cluster == nil {
		return decision{outcome: create, cluster: newCluster(in)}
	}
	if cluster.Spec.Revoked {
		return decision{outcome: revoke, cluster: cluster, reason: reasonRevoked,
			message: fmt.Sprintf("cluster %s is revoked; it can be readmitted with: fleet cluster readmit %s", cluster.Name, cluster.Name)}
	}
	return decideGrant(in, cluster)
}

func refused(c *fleet.Cluster, reason, format string, args ...any) decision {
	return decision{outcome: refuse, cluster: c, reason: reason, message: fmt.Sprintf(format, args...)}
}

// findCluster matches a request to a Cluster by its client ID, exactly. Where several carry the same one, the oldest has it.
func findCluster(in input) (*fleet.Cluster, *decision) {
	matched := in.request.Status.ClusterName
	if len(in.sameClient) > 0 {
		return slices.MinFunc(in.sameClient, func(a, b *fleet.Cluster) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		}), nil
	}
	switch {
	case matched != "":
		// The request had a Cluster and that one is gone: it is not made anew, or a deleted cluster would come back.
		return nil, &decision{outcome: revoke, reason: reasonClusterGone, message: fmt.Sprintf("cluster %s is gone", matched)}
	case in.byName != nil && in.byName.DeletionTimestamp != nil:
		return nil, &decision{outcome: wait, reason: reasonWaitDeletion,
			message: fmt.Sprintf("cluster %s of the same name is still being deleted", in.byName.Name)}
	case in.byName != nil:
		d := refused(nil, reasonNameTaken, "cluster %s exists and has another client ID; delete it, or give the agent another value clientID", in.byName.Name)
		return nil, &d
	}
	return nil, nil
}

// checkToken says why the token that a request came with does not lead to this cluster.
func checkToken(in input, cluster *fleet.Cluster) *decision {
	granted := in.request.Status.Granted
	label := in.request.Labels[names.RegistrationTokenLabel]
	if in.token == nil {
		// A token that ended after the grant takes nothing back.
		if granted {
			return nil
		}
		d := refused(cluster, reasonTokenUnknown, "registration token %q does not exist in %s; make a new one and give the agent its values", label, in.request.Namespace)
		return &d
	}
	if granted {
		return nil
	}
	if in.importAccountUID == "" {
		return &decision{outcome: wait, cluster: cluster, reason: reasonWaitAccount,
			message: fmt.Sprintf("the import account of token %s does not exist yet", in.token.Name)}
	}
	if id := in.request.Spec.Identity; id != nil && id.Requester != "" {
		if user := names.AccountUser(in.namespaces.Registration, names.Account(in.token.Name, string(in.token.UID))); id.Requester != user {
			d := refused(cluster, reasonRequesterMismatch, "the request says it comes from %.300q, but token %s belongs to %q", id.Requester, in.token.Name, user)
			return &d
		}
	}
	if reason := tokenAllows(in, cluster); reason != "" {
		d := refused(cluster, reasonTokenMismatch, "%s", reason)
		return &d
	}
	return nil
}

// tokenAllows is empty where the token leads to this cluster. The hub's own token leads to the one cluster that it was
// made for, a person's to whom its limits allow.
func tokenAllows(in input, cluster *fleet.Cluster) string {
	if in.tokenOwner != "" {
		if cluster == nil || string(cluster.UID) != in.tokenOwner {
			return fmt.Sprintf("token %s was made to import another cluster", in.token.Name)
		}
		return ""
	}
	limits := in.token.Spec
	if len(limits.ClientIDs) > 0 && !slices.Contains(limits.ClientIDs, in.request.Spec.ClientID) {
		return fmt.Sprintf("token %s is limited by spec.clientIDs to other clients", in.token.Name)
	}
	if limits.ClusterName != "" && cluster != nil && cluster.Name != limits.ClusterName {
		return fmt.Sprintf("token %s is limited by spec.clusterName to cluster %s", in.token.Name, limits.ClusterName)
	}
	return ""
}

// decideGrant holds the request against the identity that the cluster is bound to.
func decideGrant(in input, cluster *fleet.Cluster) decision {
	pin, d := decidePin(in, cluster)
	if d != nil {
		return *d
	}
	if in.token != nil && in.token.Spec.RequireApproval && !approved(in.request) && !in.request.Status.Granted {
		return refused(cluster, reasonWaitApproval, "token %s asks for an approval: fleet registration approve %s", in.token.Name, in.request.Name)
	}
	if cluster.Status.Namespace == "" {
		return decision{outcome: wait, cluster: cluster, reason: reasonWaitNamespace,
			message: fmt.Sprintf("the namespace of cluster %s does not exist yet", cluster.Name)}
	}
	return decision{outcome: grant, cluster: cluster, pin: pin, reason: reasonGranted}
}

func approved(r *fleet.ClusterRegistration) bool {
	a := r.Status.Approval
	return a != nil && (a.Decision == approvalApprove || a.Decision == approvalReplace)
}

// decidePin returns the pin to write, nil where there is none to write, or the reason not to grant. Whoever knows a
// client ID cannot take a bound cluster over: that takes its key, the hub's own import of this very cluster, or a person.
func decidePin(in input, cluster *fleet.Cluster) (*registration.Pin, *decision) {
	offered := offeredPin(in.request)
	if offered == nil && in.config.Registration.RequireIdentity && !in.request.Status.Granted {
		d := refused(cluster, reasonIdentityRequired, "the hub requires a key (registration.requireIdentity) and the agent sent none; use an agent of this hub's version")
		return nil, &d
	}
	pinned, err := registration.PinOf(cluster.Annotations)
	if err != nil {
		d := refused(cluster, reasonIdentityConflict, "cluster %s: %s", cluster.Name, err)
		return nil, &d
	}
	switch {
	case pinned == nil:
		return offered, nil
	case offered != nil && *offered == *pinned:
		return nil, nil
	case in.request.Status.Granted:
		// A request that was granted once is kept up, even after a later one bound the cluster to another key: what is
		// older goes when the newer credential is used.
		return nil, nil
	case provenByImport(in, cluster), replaces(in.request):
		return offered, nil
	}
	d := refused(cluster, reasonIdentityConflict,
		"cluster %s is bound to key %s of cluster %s, the request brings %s; if it is the same cluster with a new agent: fleet registration approve --replace %s, else: fleet registration deny %s",
		cluster.Name, pinned.Fingerprint, pinned.ClusterUID, describe(offered), in.request.Name, in.request.Name)
	return nil, &d
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

func describe(p *registration.Pin) string {
	if p == nil {
		return "no key"
	}
	return fmt.Sprintf("key %s of cluster %.64s", p.Fingerprint, p.ClusterUID)
}

// provenByImport says that the hub put this agent there itself: the request came with the account of the last import of
// this very cluster, and from the cluster that was found there.
func provenByImport(in input, cluster *fleet.Cluster) bool {
	record, ok := registration.ImportOf(cluster.Annotations)
	if !ok || in.importAccountUID == "" || record.AccountUID != in.importAccountUID || in.tokenOwner != string(cluster.UID) {
		return false
	}
	id := in.request.Spec.Identity
	return id == nil || id.ClusterUID == "" || id.ClusterUID == record.ClusterUID
}

func replaces(r *fleet.ClusterRegistration) bool {
	return r.Status.Approval != nil && r.Status.Approval.Decision == approvalReplace
}
