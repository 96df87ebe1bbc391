package heartbeat

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// Reasons of the conditions that this package writes.
const (
	reasonConnected       = "Heartbeat"
	reasonSilent          = "Silent"
	reasonValid           = "Valid"
	reasonExpiresSoon     = "ExpiresSoon"
	reasonExpired         = "Expired"
	reasonRevoked         = "Revoked"
	reasonAccountReplaced = "AccountReplaced"
)

// report brings a Cluster's status in line with a verdict.
func report(status *fleet.ClusterStatus, e evidence, v verdict) {
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		conditions.SetCondition(&status.Conditions, kind, value, reason, message, e.now)
	}
	switch v.contact {
	case connected:
		if v.clone != nil {
			set(fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, registration.ReasonCloneSuspected, v.clone.Message(e.cluster))
		} else {
			set(fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, reasonConnected, "")
		}
		registration.CheckedIn(status)
	case silent:
		// Since when stands in the message that was written first; a hub that restarted knows less.
		have := conditions.GetCondition(status.Conditions, fleet.ClusterConditionAgentConnected)
		if have == nil || have.Reason != reasonSilent {
			set(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, reasonSilent, silence(e.pulse))
		}
	}
	if v.use.request != nil && v.contact == connected {
		set(fleet.ClusterConditionRegistered, metav1.ConditionTrue, registration.ReasonCredentialUsed, "")
	}
	if v.use.record == nil {
		return
	}
	switch {
	case v.problem != "":
		set(fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, v.problemReason, v.problem)
	case v.warning != "":
		set(fleet.ClusterConditionCredentialValid, metav1.ConditionTrue, reasonExpiresSoon, v.warning)
	default:
		set(fleet.ClusterConditionCredentialValid, metav1.ConditionTrue, reasonValid, endless(v.use.record))
	}
	status.Credential = credentialStatus(status.Credential, v.use.record)
	if e.cluster.Spec.KubeConfigSecret == "" {
		e.lives.ShowHubCA(status.Credential)
	}
	status.Identity = identityStatus(status.Identity, e)
}

// silence says since when nothing was heard, and names the time in between that the hub itself was out of touch: what came
// then nobody has seen. A touch that was taken up before silence would have counted says nothing.
func silence(p pulse) string {
	text, last := "no heartbeat since the hub started at "+stamp(p.since), p.since
	if !p.seen.IsZero() {
		text, last = "no heartbeat since "+stamp(p.seen), p.seen
	}
	if back := p.counted(); back.After(last) {
		return fmt.Sprintf("%s; the hub was out of touch with its own API server for a part of the time until %s, and has heard nothing since then", text, stamp(back))
	}
	return text
}

// endless says so of a credential that has no end.
func endless(record *fleet.CredentialRecord) string {
	if record.Type != registration.TypeSecret || record.Expires != nil {
		return ""
	}
	return "it has no end: the API server grants less than 30 days, and the hub cannot bring this agent back " +
		"(agentCredential.onShortLifetime: secret); spec.revoked ends it"
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func credentialStatus(have *fleet.CredentialStatus, record *fleet.CredentialRecord) *fleet.CredentialStatus {
	next := &fleet.CredentialStatus{}
	if have != nil {
		next = have.DeepCopy()
	}
	next.Type, next.Expires = record.Type, record.Expires.DeepCopy()
	return next
}

// identityStatus shows whom the Cluster is bound to; the annotation decides.
func identityStatus(have *fleet.ClusterIdentity, e evidence) *fleet.ClusterIdentity {
	pin, err := registration.PinOf(e.cluster.Annotations)
	if err != nil || pin == nil {
		return have
	}
	if have != nil && have.KeyFingerprint == pin.Fingerprint && have.ClusterUID == pin.ClusterUID {
		return have
	}
	return &fleet.ClusterIdentity{KeyFingerprint: pin.Fingerprint, ClusterUID: pin.ClusterUID, BoundTime: &metav1.Time{Time: e.now.UTC().Truncate(time.Second)}}
}
