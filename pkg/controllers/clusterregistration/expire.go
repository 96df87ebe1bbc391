package clusterregistration

import (
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// endOf is when a request is collected that leads to nothing: registration.ttlUngranted after the hub said so last. ends
// is false for one that is granted and in use or can still be taken, that is about to be answered, or that has to stay.
func endOf(in input, d decision) (end time.Time, ends bool) {
	r := in.request
	if r.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	if d.outcome == skip {
		// Anybody may write the label that says so; one that nobody has answered does not stay for ever.
		unanswered := !r.Status.Granted && len(r.Status.Conditions) == 0 && r.Labels[names.ClusterManagementLabel] != ""
		return r.CreationTimestamp.Add(ungrantedTTL(in.config)), unanswered
	}
	since := refusedSince
	if r.Status.Granted {
		since = untakenSince
	}
	from, known := since(in, d)
	ttl := ungrantedTTL(in.config)
	if grantedReason(r) == reasonTooMany {
		ttl = min(ttl, crowdTTL)
	}
	return from.Add(ttl), known
}

func ungrantedTTL(c config.Config) time.Duration {
	if ttl := c.Registration.TTLUngranted.Duration; ttl > 0 {
		return ttl
	}
	return config.DefaultUngrantedTTL
}

// untakenSince is for a grant whose credential nobody has used and nobody can fetch any more.
func untakenSince(in input, d decision) (time.Time, bool) {
	r := in.request
	if d.outcome != grant || in.importAccountUID != "" || credentialUsed(r) {
		return time.Time{}, false
	}
	c := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
	if c == nil || c.Reason != reasonImportAccountGone {
		return time.Time{}, false
	}
	return later(r.CreationTimestamp.Time, c.LastUpdateTime)
}

func credentialUsed(r *fleet.ClusterRegistration) bool {
	for _, record := range r.Status.Credentials {
		if record.Used {
			return true
		}
	}
	return conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
}

// refusedSince is for a request that is not granted: since it was first answered or its grant was taken back, or since a
// person decided on it. What the hub has not told yet begins when it has: the agent is to read it.
func refusedSince(in input, d decision) (time.Time, bool) {
	r := in.request
	c := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
	if c == nil || c.Status != "False" || d.outcome == grant || d.outcome == create {
		return time.Time{}, false
	}
	from, known := later(r.CreationTimestamp.Time, c.LastTransitionTime)
	switch {
	case denied(r):
		if c.Reason != reasonDenied || grantedAnew(in) {
			return time.Time{}, false
		}
		return later(from, c.LastUpdateTime)
	case approved(r) && r.Status.Approval.Time != nil:
		// A time to come is somebody's error, and must not keep the request for ever.
		if at := r.Status.Approval.Time.Time; at.After(from) && !at.After(in.now) {
			from = at
		}
	}
	return from, known
}

// later is the later of two times, the second as a condition has it.
func later(a time.Time, stamp string) (time.Time, bool) {
	b, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return time.Time{}, false
	}
	if b.After(a) {
		return b, true
	}
	return a, true
}
