package explain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of condition Granted that need a person, or that a person has brought about. docs/registration.md has all.
const (
	ReasonIdentityConflict   = "IdentityConflict"
	ReasonIdentityDenied     = "IdentityDenied"
	ReasonWaitingForApproval = "WaitingForApproval"
	ReasonDenied             = "Denied"
	ReasonRevoked            = "Revoked"
	reasonDeleted            = "Deleted"
)

// Decisions of a person, as status.approval.decision has them.
const (
	Approve = "approve"
	Replace = "replace"
	Deny    = "deny"
)

// Request is a registration request as people are shown it. What it says of key, cluster and requester is claimed by who
// sent it. Its JSON is an interface: it is added to, and not changed.
type Request struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// Cluster is the one that the hub has matched it to.
	Cluster string `json:"cluster,omitempty"`
	// NewCluster is the name of the Cluster that it would make, where it was matched to none.
	NewCluster string `json:"newCluster,omitempty"`
	// Labels are those that the agent asks for its new Cluster, and DroppedLabels the keys that it does not get.
	Labels        map[string]string `json:"labels,omitempty"`
	DroppedLabels []string          `json:"droppedLabels,omitempty"`
	ClientID      string            `json:"clientID"`
	Token         string            `json:"token,omitempty"`
	Created       *metav1.Time      `json:"created,omitempty"`
	Granted       bool              `json:"granted"`
	// Pending says that it may still be granted.
	Pending bool         `json:"pending"`
	Since   *metav1.Time `json:"since,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// KeyFingerprint is empty where the request brings no key.
	KeyFingerprint string                      `json:"keyFingerprint,omitempty"`
	ClusterUID     string                      `json:"clusterUID,omitempty"`
	Requester      string                      `json:"requester,omitempty"`
	Approval       *fleet.RegistrationApproval `json:"approval,omitempty"`
	// EndedBy says what ends it that the request is not granted, and Commands what a person types for that.
	EndedBy  string   `json:"endedBy,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

// NewRequest shows a request. cluster is the one that it is about, and token the one that it came with; each is nil where
// there is none or it is not known.
func NewRequest(r *fleet.ClusterRegistration, cluster *fleet.Cluster, token *fleet.ClusterRegistrationToken) Request {
	granted := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
	out := Request{
		Workspace: r.Namespace, Name: r.Name, Cluster: r.Status.ClusterName, ClientID: r.Spec.ClientID, Token: tokenOf(r),
		Created: timeOf(r.CreationTimestamp), Granted: r.Status.Granted, KeyFingerprint: fingerprintOf(r), Approval: r.Status.Approval,
	}
	if id := r.Spec.Identity; id != nil {
		out.ClusterUID, out.Requester = id.ClusterUID, id.Requester
	}
	if granted != nil {
		out.Since, out.Reason, out.Message = since(granted), granted.Reason, granted.Message
	}
	if out.NewCluster = newCluster(r, token, out.Reason); out.NewCluster != "" {
		out.Labels, out.DroppedLabels = r.Spec.ClusterLabels, droppedLabels(r, token)
	}
	if !r.Status.Granted {
		out.Pending = r.DeletionTimestamp == nil && IsPending(out.Reason)
		out.EndedBy = endedBy(out.Reason)
		out.Commands = commands(r, cluster, out.Reason)
	}
	return out
}

// IsPending says whether a request that is refused for a reason may still be granted. The empty reason is that of one
// which the hub has not looked at.
func IsPending(reason string) bool {
	return !registration.IsFinal(reason) && reason != ReasonDenied && reason != reasonDeleted
}

// WaitsForPerson says whether a decision of a person is all that a request lacks.
func WaitsForPerson(reason string) bool {
	return reason == ReasonIdentityConflict || reason == ReasonWaitingForApproval || reason == ReasonIdentityDenied
}

// commands are what a person types about a request.
func commands(r *fleet.ClusterRegistration, cluster *fleet.Cluster, reason string) []string {
	verb := func(what string) string {
		return fmt.Sprintf("fleet registration %s %s -n %s", what, r.Name, r.Namespace)
	}
	approve := verb("approve")
	if conflicts, _ := conflict(r, cluster); conflicts || cluster == nil && reason == ReasonIdentityConflict {
		approve = verb("approve --replace")
	}
	switch {
	case reason == ReasonIdentityConflict && unreadablePin(cluster):
		return []string{verb("deny")}
	case WaitsForPerson(reason):
		return []string{approve, verb("deny")}
	case reason == ReasonDenied:
		return []string{approve}
	}
	return nil
}

// conflict says whether a request brings another identity than the one that its cluster is bound to; known is false where
// the cluster cannot be read. A request that was never matched to a cluster conflicts with none.
func conflict(r *fleet.ClusterRegistration, cluster *fleet.Cluster) (conflicts, known bool) {
	if cluster == nil {
		return false, r.Status.ClusterName == ""
	}
	pin, err := registration.PinOf(cluster.Annotations)
	if err != nil {
		return true, true
	}
	key, uid := fingerprintOf(r), ""
	if r.Spec.Identity != nil {
		uid = r.Spec.Identity.ClusterUID
	}
	if pin == nil {
		record, imported := registration.ImportOf(cluster.Annotations)
		return imported && key != "" && record.ClusterUID != "" && record.ClusterUID != uid, true
	}
	return key != pin.Fingerprint || uid != pin.ClusterUID, true
}

// unreadablePin says that no decision about a request can help: the pin itself has to be mended.
func unreadablePin(cluster *fleet.Cluster) bool {
	if cluster == nil {
		return false
	}
	_, err := registration.PinOf(cluster.Annotations)
	return err != nil
}

func fingerprintOf(r *fleet.ClusterRegistration) string {
	if r.Spec.Identity == nil || r.Spec.Identity.PublicKey == "" {
		return ""
	}
	fingerprint, err := registration.Fingerprint(r.Spec.Identity.PublicKey)
	if err != nil {
		return "" // condition Granted says that it is malformed
	}
	return fingerprint
}

// approvalText says who decided what.
func approvalText(a *fleet.RegistrationApproval) string {
	by := a.By
	if by == "" {
		by = "somebody"
	}
	text := map[string]string{Approve: "approved", Replace: "approved with replace", Deny: "denied"}[a.Decision]
	if text == "" {
		text = "decided"
	}
	text += " by " + by
	if a.Time != nil {
		text += " at " + stamp(a.Time.Time)
	}
	if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	return text
}

// pending are the requests that are not granted, the newest first.
func (v *view) pending() []Request {
	out := []Request{}
	for _, r := range newestFirst(v.Requests.Value) {
		if !r.Status.Granted {
			out = append(out, NewRequest(r, v.Cluster, v.tokenFor(r)))
		}
	}
	return out
}
