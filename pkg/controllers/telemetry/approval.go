package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// announcedFor is how old a decision may be to be told by a hub that was not running when it was taken. It is how long
	// an API server keeps Events: what was told before is still there under its name, and is not told again.
	announcedFor = time.Hour
	// skew is how far the clock of whoever decided may be ahead.
	skew = 5 * time.Minute
)

// decisions are what is told of a decision, by its word in the API.
var decisions = map[string]struct {
	reason, eventType, text string
}{
	"approve": {reasonApproved, corev1.EventTypeNormal, "approved"},
	"replace": {reasonReplaced, corev1.EventTypeNormal, "approved, with its key in the place of the one before,"},
	"deny":    {reasonDenied, corev1.EventTypeWarning, "denied"},
}

// approvalNews tells a decision on a request, on the request itself and on its Cluster; on that as soon as it is known.
func approvalNews(before, after *fleet.ClusterRegistration) (out []event) {
	is := after.Status.Approval
	if is == nil {
		return nil
	}
	anew := isDecidedAnew(before, after)
	if anew {
		out = append(out, approvalEvent(after, aboutRequest(after))...)
	}
	if name := after.Status.ClusterName; name != "" && (anew || before.Status.ClusterName != name) {
		out = append(out, approvalEvent(after, subject{kind: clusterKind, namespace: after.Namespace, name: name})...)
	}
	return out
}

// recentApproval tells a decision that was taken while no hub was running, as far as that can be known.
func recentApproval(r *fleet.ClusterRegistration, now time.Time) []event {
	a := r.Status.Approval
	if a == nil || a.Time == nil || now.Sub(a.Time.Time) > announcedFor || a.Time.Sub(now) > skew {
		return nil
	}
	return approvalNews(&fleet.ClusterRegistration{}, r)
}

// approvalEvent is empty for a decision that is none. What a person wrote is shown as it is, but in one line and bounded.
func approvalEvent(r *fleet.ClusterRegistration, about subject) []event {
	a := r.Status.Approval
	d, ok := decisions[a.Decision]
	if !ok {
		return nil
	}
	by := bounded(a.By, maxWho)
	if by == "" {
		by = "somebody who gave no name"
	}
	message := fmt.Sprintf("Request %s was %s by %s", r.Name, d.text, by)
	if why := bounded(a.Reason, maxWhy); why != "" {
		message += ": " + why
	}
	return []event{{
		about: about, eventType: d.eventType, reason: d.reason, message: bounded(message, maxMessage),
		name: approvalName(r, about.kind+"/"+about.name),
	}}
}

// isDecidedAnew says whether there is a decision, and it is not the one before.
func isDecidedAnew(before, after *fleet.ClusterRegistration) bool {
	was, is := before.Status.Approval, after.Status.Approval
	return is != nil && (was == nil || approvalKey(was) != approvalKey(is))
}

func isApproved(r *fleet.ClusterRegistration) bool {
	return r.Status.Approval != nil && (r.Status.Approval.Decision == "approve" || r.Status.Approval.Decision == "replace")
}

func isDenied(r *fleet.ClusterRegistration) bool {
	return r.Status.Approval != nil && r.Status.Approval.Decision == "deny"
}

func approvalKey(a *fleet.RegistrationApproval) string {
	stamp := ""
	if a.Time != nil {
		stamp = a.Time.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%q %q %q %q", a.Decision, a.By, a.Reason, stamp)
}

// approvalName follows from the decision and from whom it is told, and from nothing else.
func approvalName(r *fleet.ClusterRegistration, about string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", r.UID, about, approvalKey(r.Status.Approval)))
	return "fleet-approval-" + hex.EncodeToString(sum[:16])
}
