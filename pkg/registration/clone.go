package registration

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// ReasonCloneSuspected is the reason of condition AgentConnected while two agents seem to use one credential.
const ReasonCloneSuspected = "CloneSuspected"

// maxInstances bounds how many agents a suspicion names.
const maxInstances = 3

// Clone is the suspicion that two agents use the one credential of a Cluster: its cluster was copied, or restored while the
// original runs on. It is kept in an annotation that no agent can write. Neither agent gets anything new until a person has
// taken it off.
type Clone struct {
	// Request is the UID of the request that the credential was granted to. Once another one is in use, the suspicion is over.
	Request string `json:"request,omitempty"`
	// Instances are the agents, by what they call themselves.
	Instances []string `json:"instances,omitempty"`
	// Why says what was seen.
	Why string `json:"why,omitempty"`
	// Time is when.
	Time time.Time `json:"time"`
}

// CloneOf reads the suspicion from a Cluster's annotations. That it cannot be read makes it no less one: a person may have
// put it there.
func CloneOf(annotations map[string]string) (clone Clone, suspected bool) {
	raw, ok := annotations[names.CloneAnnotation]
	if !ok {
		return Clone{}, false
	}
	if json.Unmarshal([]byte(raw), &clone) != nil {
		return Clone{}, true
	}
	return clone, true
}

// Annotation is the suspicion as the value of names.CloneAnnotation.
func (c Clone) Annotation() string { return toJSON(c) }

// Message says what is suspected of a Cluster and what ends it. It is bounded, whoever wrote the annotation.
func (c Clone) Message(cluster *fleet.Cluster) string {
	text := "two agents seem to use the one credential of this cluster"
	if c.Why != "" {
		text += ": " + Printable(c.Why, 200)
	}
	if len(c.Instances) > 0 {
		shown := make([]string, 0, maxInstances)
		for _, instance := range c.Instances[:min(len(c.Instances), maxInstances)] {
			shown = append(shown, Printable(instance, 64))
		}
		text += " (" + strings.Join(shown, ", ") + ")"
	}
	return fmt.Sprintf("%s. Neither is given anything new. If one of them is a copy, end it, or revoke the cluster; then `fleet cluster approve %s -n %s`",
		text, cluster.Name, cluster.Namespace)
}
