package registration

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/fleet/pkg/names"
)

// maxAgentOwner is the longest mark that is read, in bytes: it lies on a foreign cluster.
const maxAgentOwner = 1024

// AgentOwner is the Cluster whose agent a namespace of a downstream cluster holds. Only imports leave this mark; the
// agent's chart does not.
type AgentOwner struct {
	// Hub is the UID of the hub's namespace kube-system, Cluster that of the Cluster on it.
	Hub     string `json:"hub"`
	Cluster string `json:"cluster"`
	// Namespace and Name are the Cluster's.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Leaving says that the agent is being removed: who wants the namespace may have it.
	Leaving bool `json:"leaving,omitempty"`
}

// AgentOwnerOf reads the mark from the annotations of an agent's namespace. found says that there is one, ok that it can
// be read: it is untrusted, and one that cannot be read says no more than that the namespace is somebody's.
func AgentOwnerOf(annotations map[string]string) (owner AgentOwner, found, ok bool) {
	raw, found := annotations[names.AgentOwnerAnnotation]
	if !found {
		return AgentOwner{}, false, false
	}
	if len(raw) > maxAgentOwner || json.Unmarshal([]byte(raw), &owner) != nil || !owner.valid() {
		return AgentOwner{}, true, false
	}
	return owner, true, true
}

func (o AgentOwner) valid() bool {
	return names.IsUID(o.Hub) && names.IsUID(o.Cluster) &&
		len(validation.IsDNS1123Label(o.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(o.Name)) == 0
}

// Annotation is the mark as the value of names.AgentOwnerAnnotation.
func (o AgentOwner) Annotation() string { return toJSON(o) }

// Same says whether two marks are of the same Cluster of the same hub, by their UIDs.
func (o AgentOwner) Same(other AgentOwner) bool {
	return o.Hub == other.Hub && o.Cluster == other.Cluster
}

// Holds says whether an agent is in a namespace of a cluster by what imports put there, or left there and have not removed
// yet.
func (i Import) Holds(clusterUID, namespace string) bool {
	return i.ClusterUID != "" && i.ClusterUID == clusterUID && (i.Namespace == namespace || slices.Contains(i.Previous, namespace))
}
