package registration

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// Removes says whether a Cluster that is being deleted is to go only after what bundles brought to its cluster. As long as it
// does, its agent keeps its access: by that it removes. configured is the choice of the hub's configuration.
func Removes(c *fleet.Cluster, configured string) bool {
	return c.DeletionTimestamp != nil && !c.Spec.Revoked && slices.Contains(c.Finalizers, names.ClusterFinalizer) &&
		cmp.Or(c.Spec.OnDelete, configured) == config.OnDeleteRemove
}

// Leaving is how far a hub is with that. It is kept in an annotation that no agent can write.
type Leaving struct {
	// Since is when the hub began to remove.
	Since time.Time `json:"since"`
	// Heard is status.agent.lastSeen of the report that was the last one then: it says nothing of what has become of the bundles.
	Heard time.Time `json:"heard"`
}

// BeginLeaving is what is noted before anything is removed.
func BeginLeaving(c *fleet.Cluster, now time.Time) Leaving {
	since := now.UTC().Truncate(time.Second)
	if at := c.DeletionTimestamp.UTC(); since.Before(at) { // the clocks of hub and API server differ
		since = at
	}
	return Leaving{Since: since, Heard: c.Status.Agent.LastSeen.UTC()}
}

// LeavingOf is what was noted of this deletion of a Cluster. What cannot be, such as the note of a Cluster that came back from
// a backup, counts as none.
func LeavingOf(c *fleet.Cluster, now time.Time) (noted Leaving, ok bool) {
	raw, there := c.Annotations[names.LeavingAnnotation]
	if !there || c.DeletionTimestamp == nil || json.Unmarshal([]byte(raw), &noted) != nil {
		return Leaving{}, false
	}
	at := c.DeletionTimestamp.Time
	if noted.Since.Before(at) || noted.Since.After(now) && noted.Since.After(at) {
		return Leaving{}, false
	}
	return noted, true
}

// Annotation is the note as the value of names.LeavingAnnotation.
func (l Leaving) Annotation() string { return toJSON(l) }
