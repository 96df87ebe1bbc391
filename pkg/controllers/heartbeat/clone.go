package heartbeat

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// suspicious is how many returns it takes. One agent after the other is what restarts and several replicas look like, and of
// two replicas the first may lead again; that they take turns at every heartbeat is not.
const suspicious = 3

// cloneOf is the suspicion that two agents use the one credential. One that stands is kept, whatever this hub has seen, until a
// person takes it off or the credential of another request is in use.
func cloneOf(e evidence, v verdict) *registration.Clone {
	if standing, suspected := registration.CloneOf(e.cluster.Annotations); suspected {
		if v.use.shown && standing.Request != "" && standing.Request != string(v.use.request.UID) {
			return nil
		}
		return &standing
	}
	if v.contact != connected || !v.use.shown {
		return nil
	}
	why, instances := suspicion(e.pulse.turns, v.use.request, e.grace)
	if why == "" {
		return nil
	}
	return &registration.Clone{Request: string(v.use.request.UID), Instances: instances, Why: why, Time: e.now.UTC().Truncate(time.Second)}
}

// suspicion says what speaks for a clone in who beat with the credentials of a request; empty if nothing does.
func suspicion(turns []turn, r *fleet.ClusterRegistration, grace time.Duration) (why string, instances []string) {
	own := ownTurns(turns, r)
	if len(own) == 0 {
		return "", nil
	}
	last := own[len(own)-1]
	for _, before := range own[:len(own)-1] {
		// An agent stores the renewed credential before it uses it, and goes on with nothing else.
		if issuedAfter(before.record, last.record) {
			return "the credential from before its renewal is in use again, as after a restore", distinct(own)
		}
	}
	returns := 0
	for i, t := range own {
		if i > 0 && t.at.Sub(own[i-1].at) > grace {
			returns = 0
		}
		if slices.ContainsFunc(own[:i], func(before ownTurn) bool { return before.holder == t.holder }) {
			returns++
		}
	}
	if returns < suspicious {
		return "", nil
	}
	return "they take turns at its heartbeats", distinct(own)
}

// ownTurn is a turn with a credential of the request that is looked at.
type ownTurn struct {
	turn
	instance string
	record   *fleet.CredentialRecord
}

// ownTurns are the last turns of agents that showed a credential of one request. Between two requests an old agent and a new
// one beat side by side for a moment, as they should.
func ownTurns(turns []turn, r *fleet.ClusterRegistration) []ownTurn {
	var own []ownTurn
	for _, t := range turns {
		holder, ok := registration.ParseHolder(t.holder)
		record := (*fleet.CredentialRecord)(nil)
		if ok {
			record = registration.RecordByDigest(r.Status.Credentials, holder.Digest)
		}
		if record == nil {
			own = nil // what came before belongs to another time
			continue
		}
		own = append(own, ownTurn{t, holder.Instance, record})
	}
	return own
}

func issuedAfter(a, b *fleet.CredentialRecord) bool {
	return a.Issued != nil && b.Issued != nil && a.Issued.After(b.Issued.Time)
}

func distinct(turns []ownTurn) []string {
	var instances []string
	for _, t := range turns {
		if !slices.Contains(instances, t.instance) {
			instances = append(instances, t.instance)
		}
	}
	return instances
}

// pinOnUse is the identity of an agent that has gained a key since its cluster was registered without one. It shows the
// fingerprint over the connection that its credential opened. A pin that a person took off is not put back: the status
// still shows it.
func pinOnUse(e evidence, v verdict) *registration.Pin {
	if _, pinned := e.cluster.Annotations[names.IdentityAnnotation]; pinned || v.contact != connected || !v.use.shown || !keyless(v.use.request) {
		return nil
	}
	if e.cluster.Spec.Revoked || e.cluster.Status.Identity != nil && e.cluster.Status.Identity.KeyFingerprint != "" {
		return nil
	}
	holder, ok := registration.ParseHolder(e.pulse.holder)
	if !ok || holder.Fingerprint == "" {
		return nil
	}
	pin := &registration.Pin{Fingerprint: holder.Fingerprint}
	if record, ok := registration.ImportOf(e.cluster.Annotations); ok && names.IsUID(record.ClusterUID) {
		pin.ClusterUID = record.ClusterUID
	}
	return pin
}

// note writes onto the Cluster what no agent may write there: a suspicion, or its end, and the identity that it is bound to.
func (h *handler) note(e evidence, v verdict) (*fleet.Cluster, error) {
	updated := e.cluster.DeepCopy()
	suspected := isSuspected(e.cluster)
	changed := false
	switch {
	case v.clone != nil && !suspected:
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, names.CloneAnnotation, v.clone.Annotation())
		changed = true
	case v.clone == nil && suspected:
		delete(updated.Annotations, names.CloneAnnotation)
		changed = true
	}
	if v.pin != nil {
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, names.IdentityAnnotation, v.pin.Annotation())
		changed = true
	}
	if !changed {
		return e.cluster, nil
	}
	updated, err := h.Clusters.Update(updated)
	if err != nil {
		return nil, fmt.Errorf("noting what its heartbeats show: %w", err)
	}
	h.recent.Wrote(updated)
	return updated, nil
}
