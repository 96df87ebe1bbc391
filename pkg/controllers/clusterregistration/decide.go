package clusterregistration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
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
	reasonIdentityDenied    = "IdentityDenied"
	reasonRevoked           = "Revoked"
	reasonTokenUnknown      = "TokenUnknown"
	reasonRequesterMismatch = "RequesterMismatch"
	reasonTokenMismatch     = "TokenNotForThisCluster"
	reasonNameTaken         = "ClusterNameTaken"
	reasonClusterRefused    = "ClusterRefused"
	reasonIdentityRequired  = "IdentityRequired"
	reasonIdentityConflict  = "IdentityConflict"
	reasonWaitApproval      = "WaitingForApproval"
	reasonTokenUsedUp       = "TokenUsedUp"
	reasonWaitNamespace     = "WaitingForNamespace"
	reasonWaitAccount       = "WaitingForImportAccount"
	reasonWaitProvenance    = "WaitingForProvenance"
	reasonTooMany           = "TooManyRequests"
	reasonClusterGone       = registration.ReasonClusterGone
	reasonWaitDeletion      = "WaitingForDeletion"
	reasonAccountConflict   = registration.ReasonAccountConflict
	reasonDeleted           = "Deleted"
	reasonGranted           = "Granted"
)

// reasonImportAccountGone is the reason of condition CredentialReady for a credential that nobody can fetch any more.
const reasonImportAccountGone = "ImportAccountGone"

// reasonTokenPending is the reason of the same condition while the API server's controllers make the token.
const reasonTokenPending = "TokenPending"

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
	// matched is the Cluster that the request was matched to before, nil where it is gone or going.
	matched *fleet.Cluster
	// removing says that the Cluster it was matched to goes only after its bundles, which its agent still has to remove.
	removing bool
	// placed are the UIDs of those Clusters whose namespace is there, and is theirs.
	placed map[types.UID]bool
	// byName is the Cluster that has the name which a new one would get.
	byName *fleet.Cluster
	// token is the registration token that the request names, and importAccountUID the UID of the account behind it,
	// empty while there is none.
	token            *fleet.ClusterRegistrationToken
	importAccountUID string
	// tokenOwner is the UID of the Cluster that the hub made the token for, empty for a token that a person made.
	tokenOwner string
	// tokenSpent says that another request was granted with the token since it was made.
	tokenSpent bool
	// accountTaken says that the request account of this request's name is another request's: a long name is shortened by
	// a hash, which somebody might hit on purpose.
	accountTaken bool
	// deniedTwin is another request of the same client with the same key that was denied.
	deniedTwin *fleet.ClusterRegistration
	// ungranted is how many other requests of the same token lead to nothing and are kept.
	ungranted int
	// provenance is whether the API server checks what a request says of its origin.
	provenance registration.Provenance
	now        time.Time
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
	// pending says, once the grant was tried, that the API server's controllers have not made the credential's token yet.
	pending bool
	// forget says that nothing can come of the request any more: it is deleted, and its agent asks again.
	forget bool
}

func decide(in input) decision { return withinBounds(in, answer(in)) }

// answer is what becomes of a request, however many others there are.
func answer(in input) decision {
	r := in.request
	if r.DeletionTimestamp != nil {
		return decision{outcome: revoke, reason: reasonDeleted, message: "the request is being deleted"}
	}
	if denied(r) {
		return decision{outcome: revoke, reason: reasonDenied, message: deniedMessage(in)}
	}
	if r.Labels[names.ClusterManagementLabel] != "" {
		return decision{outcome: skip}
	}
	cluster, d := findCluster(in)
	if r.Status.Granted {
		if in.accountTaken || in.removing {
			return decision{outcome: skip}
		}
		return decideGranted(in, cluster, d)
	}
	if cluster != nil && !cluster.Spec.Revoked && wasRevoked(r) {
		return decision{outcome: revoke, cluster: cluster, reason: reasonRevoked, forget: true}
	}
	if err := registration.ValidateRequest(r); err != nil {
		return refused(nil, reasonInvalid, "%s; correct that in what sent this request, then delete the request: its sender asks again",
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if in.accountTaken {
		return refused(nil, reasonAccountConflict, "service account %s/%s belongs to another request; the agent asks again under another name by itself", in.namespaces.Agents, account(r))
	}
	if d != nil {
		return *d
	}
	if d := checkToken(in, cluster); d != nil {
		return *d
	}
	if cluster == nil {
		if d := checkAdmission(in, nil); d != nil {
			return *d
		}
		return decision{outcome: create, cluster: newCluster(in)}
	}
	if cluster.Spec.Revoked {
		return revoked(cluster)
	}
	return decideGrant(in, cluster)
}

func refused(c *fleet.Cluster, reason, format string, args ...any) decision {
	return decision{outcome: refuse, cluster: c, reason: reason, message: fmt.Sprintf(format, args...)}
}

func revoked(c *fleet.Cluster) decision {
	return decision{outcome: revoke, cluster: c, reason: reasonRevoked,
		message: fmt.Sprintf("cluster %s is revoked (spec.revoked); when that is taken off, its agent has to register anew", c.Name)}
}

// wasRevoked says that a request lost what it was granted because its cluster was revoked. When that one is readmitted, its
// agent has to ask anew: nobody has to remember which requests lie there, to whom the cluster is opened by that.
func wasRevoked(r *fleet.ClusterRegistration) bool {
	return len(r.Status.Credentials) > 0 && grantedReason(r) == reasonRevoked
}

// findCluster matches a request to a Cluster: the one that it was matched to before, or by its client ID, exactly. Where
// several carry the same one, the oldest has it.
func findCluster(in input) (*fleet.Cluster, *decision) {
	before := in.request.Status.ClusterName
	for _, c := range in.sameClient {
		if c.Name == before {
			return c, nil
		}
	}
	switch {
	case in.request.Status.Granted && in.matched != nil:
		return in.matched, nil // it got another client ID since; that is no wish to cut its agent off
	case len(in.sameClient) > 0:
		return oldest(in.sameClient), nil
	case before != "":
		// The request had a Cluster and that one is gone: it is not made anew, or a deleted cluster would come back.
		return nil, &decision{outcome: revoke, reason: reasonClusterGone, forget: true, message: fmt.Sprintf("cluster %s is gone; its agent asks again by itself while its registration token lives", before)}
	case in.byName != nil && in.byName.DeletionTimestamp != nil:
		return nil, &decision{outcome: wait, reason: reasonWaitDeletion,
			message: fmt.Sprintf("cluster %s of the same name is still being deleted; its condition Processed says what that waits for", in.byName.Name)}
	case in.byName != nil:
		d := refused(nil, reasonNameTaken, "cluster %s exists and its spec.clientID is another than this request's; delete that cluster, or give the agent's chart another clientID", in.byName.Name)
		return nil, &d
	}
	return nil, nil
}

func oldest(clusters []*fleet.Cluster) *fleet.Cluster {
	return slices.MinFunc(clusters, func(a, b *fleet.Cluster) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// decideGranted keeps a grant up. Only a person, or the end of the Cluster, takes it back: that its token ended, that a
// field is found wanting today, or that a pin cannot be read must not cut a working agent off.
func decideGranted(in input, cluster *fleet.Cluster, d *decision) decision {
	switch {
	case d != nil && d.outcome == revoke:
		return *d
	case cluster == nil:
		return decision{outcome: skip}
	case cluster.Spec.Revoked:
		return revoked(cluster)
	case !in.placed[cluster.UID], ofEarlierHub(in.request):
		return decision{outcome: skip}
	}
	// The pin stays as it is: who took it off wants the next request to bind the cluster anew, not this one.
	return decision{outcome: grant, cluster: cluster, reason: reasonGranted}
}

// ofEarlierHub says that a hub before this one granted the request. To grant it anew would take its agent's account away,
// and no import account waits for another credential: it stays as it is until the agent asks again.
func ofEarlierHub(r *fleet.ClusterRegistration) bool {
	return len(r.Status.Credentials) == 0 && conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted) == nil
}

// decideGrant holds the request against the identity that the cluster is bound to.
func decideGrant(in input, cluster *fleet.Cluster) decision {
	pin, d := decidePin(in, cluster)
	if d == nil {
		d = checkAdmission(in, cluster)
	}
	if d != nil {
		return *d
	}
	if !in.placed[cluster.UID] {
		return decision{outcome: wait, cluster: cluster, reason: reasonWaitNamespace,
			message: fmt.Sprintf("the namespace of cluster %s is not there yet, or belongs to another; condition Processed of the cluster says what to do", cluster.Name)}
	}
	return decision{outcome: grant, cluster: cluster, pin: pin, reason: reasonGranted}
}
