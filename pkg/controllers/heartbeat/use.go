package heartbeat

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// use is whose credential an agent uses, as far as that is known.
type use struct {
	// request is the one that was granted the credential, nil where that is not known.
	request *fleet.ClusterRegistration
	// record is nil where the request was granted by a hub that kept none.
	record *fleet.CredentialRecord
	// shown says that the agent named the credential; else it follows from what was granted and when.
	shown bool
	// pending says that the next sign of an agent which names nothing may be the first with a newer credential.
	pending bool
}

func useOf(e evidence) use {
	holder, ok := registration.ParseHolder(e.pulse.holder)
	found := concluded
	if ok {
		found = func(e evidence) use { return named(e, holder.Digest) }
	}
	u := found(e)
	if u.request == nil {
		u.request = unrecorded(e)
	}
	return u
}

// named finds the credential that the agent names by its digest.
func named(e evidence, digest string) use {
	for _, r := range e.requests {
		if record := registration.RecordByDigest(r.Status.Credentials, digest); record != nil {
			return use{request: r, record: record, shown: true}
		}
	}
	// The hub may have ended after it laid the credential ready and before it wrote that down.
	if e.renewed == nil {
		return use{}
	}
	record, ok := registration.RecordOf(e.renewed.Annotations)
	for _, r := range e.requests {
		if ok && record.Digest == digest && e.renewed.Annotations[names.OwnerAnnotation] == ownerOf(r) {
			return use{request: r, record: &record, shown: true}
		}
	}
	return use{}
}

// concluded is for an agent that names no credential: it has what it was granted last, unless it has not been seen since.
// An agent with a key does name its credential, so that one which does not cannot have what such a one was granted.
func concluded(e evidence) (u use) {
	for _, r := range newestFirst(e.requests) {
		for i := len(r.Status.Credentials) - 1; r.Status.Granted && i >= 0; i-- {
			record := &r.Status.Credentials[i]
			since := record.Issued != nil && e.pulse.seen.After(record.Issued.Time)
			if record.Used || since && keyless(r) {
				u.request, u.record = r, record
				return u
			}
			u.pending = u.pending || keyless(r)
		}
	}
	return u
}

func keyless(r *fleet.ClusterRegistration) bool {
	return r.Spec.Identity == nil || r.Spec.Identity.PublicKey == ""
}

// unrecorded finds the grant of a hub before this one, whose credential is only known to work.
func unrecorded(e evidence) *fleet.ClusterRegistration {
	for _, r := range newestFirst(e.requests) {
		if r.Status.Granted && len(r.Status.Credentials) == 0 && conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted) == nil {
			return r
		}
	}
	return nil
}

func newestFirst(requests []*fleet.ClusterRegistration) []*fleet.ClusterRegistration {
	return slices.SortedFunc(slices.Values(requests), func(a, b *fleet.ClusterRegistration) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
}

func ownerOf(r *fleet.ClusterRegistration) string {
	return names.OwnerRef{Kind: registrationKind, Namespace: r.Namespace, Name: r.Name, UID: string(r.UID)}.String()
}
