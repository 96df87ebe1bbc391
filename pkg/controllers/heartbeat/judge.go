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
	reasonUsed            = "CredentialUsed"
	reasonValid           = "Valid"
	reasonExpired         = "Expired"
	reasonAccountReplaced = "AccountReplaced"
)

// evidence is what a judgement rests on.
type evidence struct {
	cluster *fleet.Cluster
	pulse   pulse
	grace   time.Duration
	now     time.Time
	// requests are the granted ones of this cluster.
	requests []*fleet.ClusterRegistration
	// accounts are the UIDs of the request accounts that live, by the name of the request.
	accounts map[string]string
	// legacy says that the agent has no Lease and checks in by its status.
	legacy bool
}

// verdict is what follows.
type verdict struct {
	contact contact
	// request and record are whose credential the agent uses, nil where that is not known.
	request *fleet.ClusterRegistration
	record  *fleet.CredentialRecord
	// firstUse says that the credential is seen in use for the first time.
	firstUse bool
	// problem says why the credential that the agent has cannot be good any more, empty while it is.
	problemReason, problem string
	// renewal is when the credential is due for renewal, zero if it never is.
	renewal time.Time
}

func judge(e evidence) verdict {
	v := verdict{contact: e.pulse.contact(e.now, e.grace)}
	v.request, v.record = inUse(e)
	if v.record == nil {
		return v
	}
	v.firstUse = v.contact == connected && !(v.record.Used && conditions.IsTrue(v.request.Status.Conditions, fleet.RegistrationConditionCredentialUsed))
	if v.record.Issued != nil && v.record.Expires != nil {
		v.renewal = registration.RenewalDue(v.record.Issued.Time, v.record.Expires.Time)
	}
	uid, known := e.accounts[v.request.Name]
	switch {
	case v.record.Expires != nil && e.now.After(v.record.Expires.Time):
		v.problemReason, v.problem = reasonExpired, fmt.Sprintf("the agent's credential ended at %s", v.record.Expires.UTC().Format(time.RFC3339))
	case known && uid != v.record.AccountUID:
		v.problemReason, v.problem = reasonAccountReplaced, "the account of the agent's credential was deleted; the credential died with it"
	}
	return v
}

// inUse finds the credential that the agent shows by its digest. An agent that shows none has what it was granted last.
func inUse(e evidence) (*fleet.ClusterRegistration, *fleet.CredentialRecord) {
	holder, ok := registration.ParseHolder(e.pulse.holder)
	if ok {
		for _, r := range e.requests {
			if record := registration.RecordByDigest(r.Status.Credentials, holder.Digest); record != nil {
				return r, record
			}
		}
		return nil, nil
	}
	var request *fleet.ClusterRegistration
	for _, r := range e.requests {
		if r.Status.Granted && len(r.Status.Credentials) > 0 && (request == nil || request.CreationTimestamp.Before(&r.CreationTimestamp)) {
			request = r
		}
	}
	if request == nil || !e.legacy && e.pulse.renewed.IsZero() {
		return nil, nil
	}
	return request, &request.Status.Credentials[len(request.Status.Credentials)-1]
}

// report brings a Cluster's status in line with a verdict.
func report(status *fleet.ClusterStatus, e evidence, v verdict) {
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		conditions.SetCondition(&status.Conditions, kind, value, reason, message, e.now)
	}
	switch v.contact {
	case connected:
		set(fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, reasonConnected, "")
	case silent:
		// Since when stands in the message that was written first; a hub that restarted knows less.
		have := conditions.GetCondition(status.Conditions, fleet.ClusterConditionAgentConnected)
		if have == nil || have.Reason != reasonSilent {
			set(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, reasonSilent, silence(e.pulse))
		}
	}
	if v.record == nil {
		return
	}
	if v.contact == connected {
		set(fleet.ClusterConditionRegistered, metav1.ConditionTrue, reasonUsed, "")
	}
	if v.problem != "" {
		set(fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, v.problemReason, v.problem)
	} else {
		set(fleet.ClusterConditionCredentialValid, metav1.ConditionTrue, reasonValid, "")
	}
	status.Credential = credentialStatus(status.Credential, v.record)
	status.Identity = identityStatus(status.Identity, e)
}

func silence(p pulse) string {
	if p.seen.IsZero() {
		return fmt.Sprintf("no heartbeat since the hub started at %s", p.since.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("no heartbeat since %s", p.seen.UTC().Format(time.RFC3339))
}

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

// reportUse marks a credential as used on its request.
func reportUse(status *fleet.ClusterRegistrationStatus, digest string, now time.Time) {
	for i := range status.Credentials {
		if status.Credentials[i].Digest == digest {
			status.Credentials[i].Used = true
		}
	}
	conditions.SetCondition(&status.Conditions, fleet.RegistrationConditionCredentialUsed, metav1.ConditionTrue, reasonUsed, "", now)
}
