package registration

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rancher/fleet/pkg/names"
)

// maxFingerprint is the longest fingerprint that is read from a pin, in bytes.
const maxFingerprint = 64

// Pin is the identity that a Cluster was first granted with, kept in an annotation that no agent can write.
type Pin struct {
	Fingerprint string `json:"fingerprint"`
	ClusterUID  string `json:"clusterUID,omitempty"`
	// ApprovedBy is the person who approved the request that the Cluster was bound by, and Request that request's name.
	// They are for people and outlive the request; nothing is decided by them.
	ApprovedBy string `json:"approvedBy,omitempty"`
	Request    string `json:"request,omitempty"`
}

// Same says whether two pins are the same identity, whoever approved it.
func (p Pin) Same(other Pin) bool {
	return p.Fingerprint == other.Fingerprint && p.ClusterUID == other.ClusterUID
}

// PinOf reads the pin from a Cluster's annotations; nil where there is none. An annotation that cannot be read is an
// error, never "no pin": it would open the cluster to whoever asks.
func PinOf(annotations map[string]string) (*Pin, error) {
	raw, ok := annotations[names.IdentityAnnotation]
	if !ok {
		return nil, nil
	}
	var pin Pin
	if err := json.Unmarshal([]byte(raw), &pin); err != nil || !pin.valid() {
		return nil, fmt.Errorf("annotation %s cannot be read: restore it, or remove it to let the next request bind the cluster anew", names.IdentityAnnotation)
	}
	return &pin, nil
}

// valid bounds what goes into the Cluster's status: a person may have edited the annotation.
func (p Pin) valid() bool {
	return p.Fingerprint != "" && len(p.Fingerprint) <= maxFingerprint && isPlain(p.Fingerprint) &&
		len(p.ClusterUID) <= maxClientID && isPlain(p.ClusterUID)
}

// Annotation is the pin as the value of names.IdentityAnnotation.
func (p Pin) Annotation() string { return toJSON(p) }

// Import records the last time that the hub put an agent into a cluster.
type Import struct {
	// TokenUID and AccountUID are those of the registration token and the import account that the agent was given.
	TokenUID   string `json:"tokenUID,omitempty"`
	AccountUID string `json:"accountUID,omitempty"`
	// ClusterUID is the UID of the kube-system namespace that was found there.
	ClusterUID string `json:"clusterUID,omitempty"`
	// Namespace is the agent's; Previous are those of agents that are to go once this one has reported.
	Namespace string   `json:"namespace,omitempty"`
	Previous  []string `json:"previous,omitempty"`
	// Kubeconfig is the digest of the kubeconfig that was used, Generation the agent's GENERATION.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Generation string `json:"generation,omitempty"`
	// Redeploy is spec.redeployAgentGeneration as it was: another one is an order to put the agent there.
	Redeploy int64 `json:"redeploy,omitempty"`
	// Replaces is the digest of another's mark on the agent's namespace that this import may replace.
	Replaces string `json:"replaces,omitempty"`
	// Superseded says that the next import has begun to take away what this one gave the agent: that one is made to its end,
	// also if what made it due passes.
	Superseded bool `json:"superseded,omitempty"`
	// Time is when, and Attempts how many imports in a row were made to heal the agent.
	Time     time.Time `json:"time"`
	Attempts int       `json:"attempts,omitempty"`
}

// ImportOf reads the record from a Cluster's annotations. A record that cannot be read is as good as none: the import is
// made again, which does no harm.
func ImportOf(annotations map[string]string) (Import, bool) {
	var record Import
	raw, ok := annotations[names.ImportAnnotation]
	if !ok || json.Unmarshal([]byte(raw), &record) != nil {
		return Import{}, false
	}
	// A person may have edited it; delays are computed from this number.
	record.Attempts = max(record.Attempts, 0)
	// Go reads zones of a day and more, and does not write them.
	if record.Time = record.Time.UTC(); record.Annotation() == "" {
		return Import{}, false
	}
	return record, true
}

// Annotation is the record as the value of names.ImportAnnotation.
func (i Import) Annotation() string { return toJSON(i) }

// toJSON encodes structs of strings, numbers and times, which cannot fail.
func toJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
